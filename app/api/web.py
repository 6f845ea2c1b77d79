"""Pages of the browser interface, from the files in `app/web/dist`.

All paths outside of `/api` belong to the interface. A path without a file is a page that
`index.html` renders in the browser. If the interface has not been built, a page explains it.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path, PurePosixPath

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.rest.compression import takes_gzip

DIST = Path(__file__).resolve().parent.parent / "web" / "dist"
_API = "/api"
_INDEX = "index.html"
# Files in this folder have a hash of their content in their names.
_HASHED = "assets"
# Files that browsers request by name: if one is missing, a page must not take its place.
_NO_PAGES = frozenset({".ico", ".js", ".png", ".svg", ".webmanifest"})
_LINKS = {
    "page": "/",
    "api": "/api/v1",
    "health": "/api/v1/health",
    "openapi": "/api/v1/openapi.json",
    "websocket": "/api/v1/ws",
}
_PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types tollgate-worker"
    ),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Tollgate</title></head>
<body><main><h1>Tollgate is running without its browser interface</h1>
<p>The interface has not been built. It requires Node.js 20.19 or newer, and npm.
Install them, then run <code>python3 scripts/bootstrap.py web</code> in the source folder.</p>
<p>Everything else works: the API is at <code>/api/v1</code>, and <code>tollgate chat</code>
talks to it from a terminal.</p>
<h2 lang="zh-CN">Tollgate 正在运行，但没有浏览器界面</h2>
<p lang="zh-CN">界面尚未构建。请安装 Node.js 20.19 或更新版本及 npm，然后在源码目录运行
<code>python3 scripts/bootstrap.py web</code>。</p></main></body></html>
"""


class WebPages:
    """Middleware that serves the browser interface; other requests continue to the app."""

    def __init__(self, app: ASGIApp, folder: Path = DIST, *, root_path: str = "") -> None:
        self._app = app
        self._folder = folder
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(scope) if scope["type"] == "http" else None
        if (
            answer is not None
            and scope["method"] == "HEAD"
            and not isinstance(answer, FileResponse)
        ):
            answer.body = b""
        await (answer or self._app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the response with a file or page; None for the API and for unknown paths."""
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or path == _API or path.startswith(f"{_API}/"):
            return None
        if not path:
            # Without the final slash, relative links of the page would resolve beside it.
            return RedirectResponse(f"{self._root}/")
        headers = Headers(scope=scope)
        name = _name(path)
        if name is None:
            return None
        if name != _INDEX and (found := self._file(name, headers)) is not None:
            return found
        if "text/html" not in headers.get("accept", ""):
            return self._links() if name == _INDEX else None
        place = PurePosixPath(name)
        if place.parts[0] == _HASHED or (len(place.parts) == 1 and place.suffix in _NO_PAGES):
            return None
        return self._page()

    def _links(self) -> Response:
        """Return the links for a program that requests the page."""
        shown = {name: f"{self._root}{path}" for name, path in _LINKS.items()}
        return JSONResponse({"name": "Tollgate", "links": shown})

    def _page(self) -> Response:
        """Return `index.html` with paths that include the root path."""
        try:
            page = (self._folder / _INDEX).read_text(encoding="utf-8")
        except FileNotFoundError:
            return HTMLResponse(_NOT_BUILT, 503, headers=_page_headers("no-store"))
        # A cached document would request scripts that an update has removed.
        shown = page.replace('="./', f'="{self._root}/')
        return HTMLResponse(shown, headers=_page_headers("no-cache"))

    def _file(self, name: str, headers: Headers) -> Response | None:
        path = self._folder / name
        if not _is_file(path) or not path.resolve().is_relative_to(self._folder.resolve()):
            return None
        hashed = PurePosixPath(name).parts[0] == _HASHED
        shown = _page_headers("public, max-age=31536000, immutable" if hashed else "no-cache")
        packed = path.with_name(f"{path.name}.gz")
        if _is_file(packed):
            shown["vary"] = "accept-encoding"
            if takes_gzip(headers):
                shown["content-encoding"] = "gzip"
                path = packed
        return FileResponse(path, headers=shown, media_type=_media_type(name))


def _name(path: str) -> str | None:
    """Return the file name of a path; None if it could lead out of the folder."""
    parts = [part for part in path.split("/") if part]
    if any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    return "/".join(parts) or _INDEX


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long
        return False


def _media_type(name: str) -> str:
    # The machine's own media types may be wrong for scripts, which browsers then refuse.
    known = {
        ".js": "text/javascript",
        ".css": "text/css",
        ".ico": "image/x-icon",
        ".md": "text/plain",
        ".webmanifest": "application/manifest+json",
    }
    suffix = PurePosixPath(name).suffix
    return known.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _page_headers(kept: str) -> dict[str, str]:
    return {**_PAGE_HEADERS, "cache-control": kept}
