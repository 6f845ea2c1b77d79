"""Large JSON answers, compressed for who takes gzip."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.rest.routing import PREFIX

MIN_BYTES = 1024
_LEVEL = 5
# Files that calls produced are sent in pieces as they are; what has a CSRF token is not packed.
_LEFT_ALONE = re.compile(rf"{PREFIX}/(me\Z|artifacts/)")
# Streams are sent piece by piece, the others are compressed already or small.
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
    """Compresses what is read over REST.

    Nothing is compressed that a page of somebody else could ask for with a login's cookie: it
    could tell the answer's content by its length (BREACH). A token no other page can send.
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
    """A weight; 0 for what is none."""
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
    """Return whether the request comes from an own page, or carries a token."""
    site = headers.get("sec-fetch-site")
    if "authorization" in headers or site in _OWN_PAGES:
        return True
    return site is None and "cookie" not in headers
