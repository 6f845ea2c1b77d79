"""Support for a service below a path prefix, `root_path`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class BelowRoot:
    """Middleware that removes `root_path` from request paths if the proxy has not done so."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            path: str = scope["path"]
            if path == self._root or path.startswith(f"{self._root}/"):
                raw: bytes = scope.get("raw_path") or path.encode()
                below = raw.removeprefix(self._root.encode())
                scope = {**scope, "path": path.removeprefix(self._root), "raw_path": below}
        await self._app(scope, receive, send)


def address(request: Request, path: str) -> str:
    """Return a path of the service with its `root_path`, as clients must request it."""
    root: str = request.app.state.settings.root_path
    return f"{root}{path}"
