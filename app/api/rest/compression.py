"""Compression of large JSON responses with gzip."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.rest.routing import PREFIX

MIN_BYTES = 1024
_LEVEL = 5
# Artifacts are streamed unchanged; a response with a CSRF token is not compressed.
_LEFT_ALONE = re.compile(rf"{PREFIX}/(me\Z|artifacts/)")
# Streams are sent in pieces; the other types are already compressed or small.
_NOT_PACKED = (
    "application/octet-stream",
    "application/x-ndjson",
    "audio/*",
    "image/*",
    "text/*",
    "video/*",
)
_OWN_PAGES = frozenset({"same-origin", "none"})


class Compressed:
    """Middleware that compresses responses to REST reads.

    A response is not compressed if a foreign page could request it with a login cookie: the
    compressed length could reveal its content (BREACH). Foreign pages cannot send tokens.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._packing = GZipMiddleware(app, MIN_BYTES, _LEVEL, exclude_content_types=_NOT_PACKED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._packing if scope["type"] == "http" and may_pack(scope) else self._app
        await app(scope, receive, send)


def takes_gzip(headers: Headers) -> bool:
    """Return whether the client accepts gzip."""
    offered = (part.strip() for part in headers.get("accept-encoding", "").split(","))
    named = [part.replace(" ", "").lower() for part in offered]
    return any(
        part == "gzip" or (part.startswith("gzip;q=") and _weight(part[7:]) > 0) for part in named
    )


def _weight(text: str) -> float:
    """Return a quality value; 0 if it is invalid."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def may_pack(scope: Scope) -> bool:
    """Return whether the response to a request may be compressed."""
    path: str = scope["path"]
    if scope["method"] != "GET" or not path.startswith(f"{PREFIX}/"):
        return False
    headers = Headers(scope=scope)
    return _LEFT_ALONE.match(path) is None and takes_gzip(headers) and _is_own(headers)


def _is_own(headers: Headers) -> bool:
    """Return whether the request has a token, or does not come from a foreign page."""
    site = headers.get("sec-fetch-site")
    if "authorization" in headers or site in _OWN_PAGES:
        return True
    return site is None and "cookie" not in headers
