"""Responses of language servers in a common form.

A response depends on untrusted files in the workspace, so nothing in it is trusted. Fields of a
wrong type are omitted, and only files of the workspace are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.core.errors import TollgateError
from app.operations.language_servers.documents import read_text
from app.operations.language_servers.server import CodeServer
from app.operations.protocols.files import FileOperations
from app.tools.dev.lsp.positions import split, start_of, to_column

_MAX_TEXT = 300
_MAX_NAME = 500
_MAX_HOVER = 20_000
_MAX_SYMBOLS = 5_000
_MAX_SOURCES = 200
_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string"),
    *("number", "boolean", "array", "object", "key", "null", "enum_member", "struct"),
    *("event", "operator", "type_parameter"),
)
_SEVERITIES = {1: "error", 2: "warning", 3: "info", 4: "hint"}

Place = dict[str, Any]
"""`path`, `line` and `column` from 1, and `text` of the line if it is in the workspace."""


class SourceLines:
    """Lines of workspace files, cached."""

    def __init__(self, server: CodeServer, files: FileOperations) -> None:
        self._server = server
        self._files = files
        self._lines: dict[str, list[str] | None] = {}

    async def place(self, uri: object, span: Any) -> Place:
        """Return the start of a range in a file."""
        path = self._server.path_of(uri)
        line, units = start_of(span)
        lines = await self._read(path)
        text = lines[line] if lines is not None and line < len(lines) else None
        column = units if text is None else to_column(text, units, self._server.encoding)
        place: Place = {"path": path[:4096], "line": line + 1, "column": column + 1}
        if text is not None:
            place["text"] = text.strip()[:_MAX_TEXT]
        return place

    async def _read(self, path: str) -> list[str] | None:
        if path.startswith("/") or ":" in path or len(self._lines) >= _MAX_SOURCES:
            return self._lines.get(path)
        if path not in self._lines:
            try:
                self._lines[path] = split(await read_text(self._files, path))
            except TollgateError:
                self._lines[path] = None
        return self._lines[path]


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, a single object, or nothing."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


async def locations(answer: Any, sources: SourceLines, limit: int) -> tuple[list[Place], int]:
    """Return the positions of `Location`s and `LocationLink`s without duplicates, and their
    number.
    """
    found: dict[tuple[str, int, int], tuple[Any, Any]] = {}
    for item in dicts(answer):
        uri = item.get("targetUri", item.get("uri"))
        span = item.get("targetSelectionRange", item.get("range"))
        found.setdefault((str(uri), *start_of(span)), (uri, span))
    places = [await sources.place(uri, span) for uri, span in list(found.values())[:limit]]
    return places, len(found)


def hover_text(answer: Any) -> str:
    """Return the contents of a hover as Markdown; empty if there is none."""
    contents = answer.get("contents") if isinstance(answer, dict) else None
    parts = contents if isinstance(contents, list) else [contents]
    return "\n\n".join(filter(None, map(_marked, parts)))[:_MAX_HOVER]


def _marked(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or not isinstance(part.get("value"), str):
        return ""
    if isinstance(part.get("language"), str):
        return f"```{part['language']}\n{part['value']}\n```"
    return str(part["value"])


async def symbols(
    answer: Any, sources: SourceLines, uri: str | None, limit: int
) -> tuple[list[Place], int]:
    """Return symbols of a document (with `uri`) or the workspace, children after their parents."""
    flat = list(_flattened(answer, ""))
    found = []
    for item, container in flat[:limit]:
        location = item.get("location")
        if isinstance(location, dict):
            place = await sources.place(location.get("uri"), location.get("range"))
        else:
            place = await sources.place(uri, item.get("selectionRange", item.get("range")))
        found.append({"name": _name(item), "kind": _kind(item), "container": container, **place})
    return found, len(flat)


def _flattened(answer: Any, container: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield depth first without recursion: a response may have any depth."""
    waiting = [(item, container) for item in reversed(dicts(answer))]
    for _ in range(_MAX_SYMBOLS):
        if not waiting:
            return
        item, inside = waiting.pop()
        given = item.get("containerName")
        yield item, inside or (given[:_MAX_NAME] if isinstance(given, str) else "")
        name = f"{inside}.{_name(item)}" if inside else _name(item)
        waiting += [(child, name[:_MAX_NAME]) for child in reversed(dicts(item.get("children")))]


def _name(item: dict[str, Any]) -> str:
    return str(item.get("name", ""))[:_MAX_NAME]


def _kind(item: dict[str, Any]) -> str:
    kind = item.get("kind")
    known = isinstance(kind, int) and 0 < kind <= len(_KINDS)
    return _KINDS[int(kind) - 1] if known and kind is not None else "symbol"


async def hierarchy_item(item: dict[str, Any], sources: SourceLines) -> Place:
    """Return one `CallHierarchyItem`."""
    place = await sources.place(item.get("uri"), item.get("selectionRange", item.get("range")))
    return {"name": _name(item), "kind": _kind(item), **place}


async def calls(
    answer: Any, sources: SourceLines, *, side: str, caller_uri: object, limit: int
) -> tuple[list[Place], int]:
    """Return callers (`side` is `from`) or callees (`to`), with the positions of the calls."""
    found = []
    items = dicts(answer)
    for call in items[:limit]:
        other = call.get(side)
        if isinstance(other, dict):
            # Calls are in the caller's file, for either side.
            uri = other.get("uri") if side == "from" else caller_uri
            spans = dicts(call.get("fromRanges"))[:limit]
            at = [await sources.place(uri, span) for span in spans]
            found.append({**await hierarchy_item(other, sources), "calls": at})
    return found, len(items)


async def diagnostics(items: Any, sources: SourceLines, uri: str) -> list[Place]:
    """Return a server's diagnostics of one file, by line."""
    found = []
    for item in dicts(items):
        place = await sources.place(uri, item.get("range"))
        severity = item.get("severity", 1)
        found.append(
            {
                **place,
                "code": str(item.get("code") or "")[:_MAX_NAME],
                "severity": _SEVERITIES.get(severity if isinstance(severity, int) else 1, "error"),
                "message": str(item.get("message", ""))[: 4 * _MAX_NAME],
                "source": str(item.get("source") or "")[:_MAX_NAME],
            }
        )
    return sorted(found, key=lambda place: (place["line"], place["column"], place["code"]))


def actions(answer: Any, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Return titles and kinds of the server's code actions."""
    offered = dicts(answer)
    listed = [
        {
            "title": str(item.get("title", ""))[:_MAX_NAME],
            "kind": str(item.get("kind") or "")[:_MAX_NAME],
            "preferred": item.get("isPreferred") is True,
        }
        for item in offered[:limit]
    ]
    return listed, len(offered)
