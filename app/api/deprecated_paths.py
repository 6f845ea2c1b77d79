"""Old paths of renamed routes, which work as aliases for two minor releases."""

from __future__ import annotations

from typing import Any

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from app.api.rest.routing import PREFIX

# What 0.2 renames may be gone in 0.4.
RENAMED = {
    f"{PREFIX}/admin/resolve": f"{PREFIX}/admin/toolset",
    f"{PREFIX}/admin/sources": f"{PREFIX}/admin/data-sources",
}


class RenamedPath(BaseRoute):
    """Serves requests of an old path, and of every path below it, by the routes of the new one."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match HTTP requests of the old path."""
        is_old = scope["type"] == "http" and _moved(_path(scope), self._old, self._new)
        return (Match.FULL if is_old else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route the request again, by its new path."""
        moved = scope.get("root_path", "") + _moved(_path(scope), self._old, self._new)
        raw = scope["raw_path"].replace(self._old.encode(), self._new.encode(), 1)
        router: Router = scope["router"]
        await router({**scope, "path": moved, "raw_path": raw}, receive, send)


renamed_paths = tuple(RenamedPath(old, new) for old, new in RENAMED.items())


def document_renamed(document: dict[str, Any]) -> None:
    """Add the operations of old paths to an OpenAPI document, marked as deprecated."""
    paths: dict[str, dict[str, Any]] = document["paths"]
    for old, new in RENAMED.items():
        for path in list(paths):
            if moved := _moved(path, new, old):
                paths[moved] = {method: _old(each, path) for method, each in paths[path].items()}


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _old(operation: dict[str, Any], path: str) -> dict[str, Any]:
    return {
        **operation,
        "deprecated": True,
        "operationId": f"{operation['operationId']}_deprecated",
        "summary": f"{operation['summary']} (use `{path.removeprefix(PREFIX)}`)",
    }


def _moved(path: str, old: str, new: str) -> str:
    """Return a path at or below `old` with the prefix `new`; empty for others."""
    rest = path.removeprefix(old)
    is_old = path.startswith(old) and (not rest or rest.startswith("/"))
    return new + rest if is_old else ""
