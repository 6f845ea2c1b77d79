"""A service below a path of another one: its addresses begin with `root_path`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class BelowRoot:
    """Takes `root_path` off the front of a path, whether or not a proxy has done so before."""

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
    """A path of ours as a client must ask for it."""
    root: str = request.app.state.settings.root_path
    return f"{root}{path}"
