"""Conversion of the OpenAPI and AsyncAPI documents to Markdown pages of the site."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scripts.generate_docs import schema_type

Document = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
PREFIX = "/api/v1"


def rest_pages(document: Document) -> dict[str, str]:
    """Return pages by file name: an overview, one page per group of operations, and the schemas."""
    groups = _grouped(document)
    described = {tag["name"]: tag.get("description", "") for tag in document.get("tags", ())}
    pages = {
        f"rest-{group}.md": _lines(_group_page(group, operations, described.get(group, "")))
        for group, operations in groups.items()
    }
    schemas = document.get("components", {}).get("schemas", {})
    pages["rest-schemas.md"] = _lines(_schema_page("Schemas of REST", schemas, "rest-schemas.md"))
    pages["rest.md"] = _lines(_overview(document, [*pages]))
    return pages


def _grouped(document: Document) -> dict[str, list[tuple[str, str, Document]]]:
    """Return method, path and operation by tag; those of administrators also by subject."""
    found: dict[str, list[tuple[str, str, Document]]] = defaultdict(list)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                tag = item[method].get("tags", ["service"])[0]
                parts = path.removeprefix(PREFIX).strip("/").split("/")
                subject = parts[1] if tag == "admin" and len(parts) > 1 else ""
                found[f"{tag}-{subject}" if subject else tag].append((method, path, item[method]))
    return dict(sorted(found.items()))


def _overview(document: Document, pages: Sequence[str]) -> Iterator[str]:
    info = document["info"]
    yield from ("# REST", "", str(info.get("description", "")), "")
    yield from ("The same as a document: [openapi.json](../files/openapi.json).", "")
    yield from ("```{toctree}", ":maxdepth: 2", "")
    yield from (page.removesuffix(".md") for page in pages)
    yield "```"


def _group_page(
    group: str, operations: Iterable[tuple[str, str, Document]], description: str
) -> Iterator[str]:
    tag, _, subject = group.partition("-")
    title = f"{tag.capitalize()}: {subject.replace('-', ' ')}" if subject else tag.capitalize()
    yield from (f"# {title}", "", description)
    for method, path, operation in operations:
        yield from ("", f"## {operation['summary']}", "", f"`{method.upper()} {path}`", "")
        if operation.get("deprecated"):
            yield from ("Deprecated.", "")
        yield str(operation.get("description", ""))
        yield from _parameters(operation.get("parameters", ()))
        yield from _body(operation.get("requestBody"))
        yield from _responses(operation["responses"])


def _parameters(parameters: Sequence[Document]) -> Iterator[str]:
    if not parameters:
        return
    yield ""
    yield from table(
        ("parameter", "in", "type", "required", "meaning"),
        (
            (
                f"`{known['name']}`",
                known["in"],
                _type(known.get("schema", {}), "rest-schemas.md"),
                "yes" if known.get("required") else "",
                known.get("description", ""),
            )
            for known in parameters
        ),
    )


def _body(body: Document | None) -> Iterator[str]:
    for kind, content in (body or {}).get("content", {}).items():
        yield from ("", f"Body (`{kind}`): {_type(content.get('schema', {}), 'rest-schemas.md')}")


def _responses(responses: Document) -> Iterator[str]:
    yield ""
    yield from table(
        ("status", "meaning", "body"),
        (
            (
                status,
                answer.get("description", ""),
                ", ".join(
                    f"{_type(content.get('schema', {}), 'rest-schemas.md')} (`{kind}`)"
                    for kind, content in answer.get("content", {}).items()
                ),
            )
            for status, answer in responses.items()
        ),
    )


def websocket_pages(document: Document) -> dict[str, str]:
    """Return pages by file name: the messages by direction, and the schemas of their parts."""
    schemas = dict(document["components"]["schemas"])
    messages = document["components"]["messages"]
    lines = ["# WebSocket", "", str(document["info"].get("description", "")), ""]
    lines += ["The same as a document: [asyncapi.json](../files/asyncapi.json).", ""]
    for operation in document["operations"].values():
        lines += ["", f"## {operation['summary'].removesuffix('.')}"]
        for reference in operation["messages"]:
            message = messages[_last(reference["$ref"])]
            lines += ["", f"### {message['name']}", "", str(message.get("summary", ""))]
            payload = message["payload"]
            schema = schemas.pop(_last(payload["$ref"])) if "$ref" in payload else payload
            lines += _fields(schema, "websocket-schemas.md")
    lines += ["", "```{toctree}", ":hidden:", "", "websocket-schemas", "```"]
    parts = _schema_page("Schemas of messages", schemas, "websocket-schemas.md")
    return {"websocket.md": _lines(lines), "websocket-schemas.md": _lines(parts)}


def _schema_page(title: str, schemas: Document, page: str) -> Iterator[str]:
    yield from (f"# {title}", "")
    for name, schema in sorted(schemas.items()):
        yield from ("", f"## {name}", "", str(schema.get("description", "")))
        yield from _fields(schema, page)


def _fields(schema: Document, page: str) -> Iterator[str]:
    yield ""
    properties = schema.get("properties")
    if not properties:
        yield f"Type: {_type(schema, page)}"
        return
    required = set(schema.get("required", ()))
    yield from table(
        ("field", "type", "required", "meaning"),
        (
            (
                f"`{name}`",
                _type(part, page),
                "yes" if name in required else "",
                part.get("description", ""),
            )
            for name, part in properties.items()
        ),
    )


def _type(schema: Document, page: str) -> str:
    """Return a schema in a few words; names link to the page of schemas."""
    return re.sub(r"\]\(#", f"]({page}#", schema_type(schema))


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _lines(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
