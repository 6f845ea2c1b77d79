"""Requests in a Python program that ask a server to delete."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from app.policy.risk.call import Answer, ask, names
from app.policy.risk.code_requests import http_delete
from app.policy.risk.model import RiskLevel
from app.policy.risk.python_names import constant, dotted
from app.policy.risk.python_paths import PathReader

_DELETES = frozenset(names("requests.delete httpx.delete"))
_CLIENTS = frozenset(
    names(
        "requests httpx aiohttp urllib http urllib3 httplib2 pycurl tornado treq grequests "
        "requests_html requests_toolbelt niquests curl_cffi asks hishel"
    )
)
_REQUESTS = frozenset(
    names(
        "request Request stream build_request urlopen fetch HTTPRequest putrequest setopt "
        "request_encode_url request_encode_body prepare open send"
    )
)
_HELD = frozenset(names("Session Client AsyncClient ClientSession CachedSession HTTPClient"))


def requests_of(
    node: ast.Call, path: str, names: dict[str, str], reader: PathReader
) -> Iterator[Answer]:
    """Ask about a call of the function `path` ("": unknown) that requests a deletion."""
    if path in _DELETES or _looked_up(node.func, names) in _DELETES:
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)
    elif not _CLIENTS.isdisjoint(root.split(".")[0] for root in names.values()) and (
        _with_method(node, path, reader) or _of_client(node, reader)
    ):
        yield http_delete("Python asks a server to delete")


def request_set(node: ast.Assign, reader: PathReader) -> Iterator[Answer]:
    """Detect `request.method = "DELETE"` and `request.get_method = lambda: "DELETE"`."""
    value = node.value.body if isinstance(node.value, ast.Lambda) else node.value
    for target in node.targets:
        named = isinstance(target, ast.Attribute) and target.attr in {"method", "get_method"}
        if named and _is_delete(value, reader):
            yield http_delete("Python asks a server to delete")


def _with_method(node: ast.Call, path: str, reader: PathReader) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else path.rsplit(".", 1)[-1]
    given = [*node.args[:2], *(item.value for item in node.keywords if item.arg == "method")]
    return name in _REQUESTS and any(_is_delete(item, reader) for item in given)


def _of_client(node: ast.Call, reader: PathReader) -> bool:
    """Return whether it is `session.delete("https://…")`, or the same on a new object."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "delete":
        return False
    held: ast.expr | None = function.value
    if isinstance(held, ast.Name):
        held = reader.values.get(held.id) or _entered(held.id, reader)
    if isinstance(held, ast.Await):
        held = held.value
    made = held.func if isinstance(held, ast.Call) else None
    name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
    if name in _HELD:
        return True
    where = node.args[0] if node.args else None
    where = where.values[0] if isinstance(where, ast.JoinedStr) and where.values else where
    text = constant(where)
    return isinstance(text, str) and text.startswith(("http://", "https://"))


def _entered(name: str, reader: PathReader) -> ast.expr | None:
    """Return the expression entered by `with … as name`."""
    for node in reader.nodes:
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name:
                    return item.context_expr
    return None


def _is_delete(node: ast.expr | None, reader: PathReader) -> bool:
    if isinstance(node, ast.Name):
        node = reader.values.get(node.id)
    text = constant(node)
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    return isinstance(text, str) and text.upper() == "DELETE"


def _looked_up(function: ast.expr, names: dict[str, str]) -> str:
    """Return `getattr(requests, "delete")` as a name."""
    if not isinstance(function, ast.Call) or dotted(function.func, names) != "getattr":
        return ""
    if len(function.args) < 2:
        return ""
    return f"{dotted(function.args[0], names)}.{constant(function.args[1])}"
