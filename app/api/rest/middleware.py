"""Checks before any route: host, origin and size of the body."""

from __future__ import annotations

import logging
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.connection_limits import overloaded
from app.api.deps import SAFE_METHODS
from app.api.errors import problem_response
from app.api.rest.routing import ALWAYS_ANSWERED, PREFIX
from app.api.service import Service
from app.api.ws import close_codes
from app.core.errors import Overloaded, TollgateError, TooLarge
from app.core.loop_pacer import LoopPacer
from app.core.machine_limits import memory_room

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 8 << 20
_CATALOG = f"{PREFIX}/tools"  # served without a database while there is enough memory
_ENDING = re.compile(r"/(?:login|logout|cancel)\Z")
_UPLOAD = re.compile(rf"{PREFIX}/sessions/[^/]+/files\Z")
_LARGE_BYTES = 256 << 10
# Copies of a body: bytes, text, values, validated values, and their stored forms.
_COPIES = 8
_KEPT_FREE = 32 << 20
_NO_MEMORY = "Not enough memory for a request of this size; try again later"
# Routes can set their own values, such as for downloads and pages.
_ANSWER_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


class SameSite:
    """Middleware that refuses foreign host names, and changes requested by foreign web pages.

    It covers REST, pages, webhooks and WebSockets.

    Response headers forbid browsers to sniff the content type, cache the response, embed it or send
    its address as referrer. Concurrent changes are paced, so that reads such as the health check
    run between them. Requests that the state of the machine or the database forbids are refused
    before their bodies are read.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = LoopPacer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        service: Service = scope["app"].state.service
        if scope["type"] == "websocket":
            await self._open(service, scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in _ANSWER_HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        try:
            service.authenticator.check_host(headers.getlist("host"))
            if (refusal := _refusal(service, scope)) is not None:
                raise refusal
            if scope["method"] not in SAFE_METHODS:
                await self._turns.next()
                _check_page(service, headers)
        except TollgateError as error:
            await problem_response(error)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    async def _open(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept or refuse a WebSocket."""
        try:
            _check_page(service, Headers(scope=scope))
        except TollgateError as error:
            log.warning("WebSocket refused: %s", error.message)
            await receive()
            how = close_codes.FORBIDDEN
            await send({"type": "websocket.close", "code": how.code, "reason": how.reason})
            return
        if (refusal := _refusal(service, scope)) is not None:
            await problem_response(refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _refusal(service: Service, scope: Scope) -> TollgateError | None:
    """Return why the machine or the database currently refuses the request."""
    path = scope["path"]
    if path in ALWAYS_ANSWERED:
        return None
    method = scope.get("method", "GET")
    # Requests that end work or free space are accepted, and so is signing in to do that.
    changes = method not in SAFE_METHODS and method != "DELETE" and not _ENDING.search(path)
    return service.conditions.refusal(changes=changes, from_memory=path == _CATALOG and not changes)


def _check_page(service: Service, headers: Headers) -> None:
    """Refuse foreign names, and pages of foreign origins.

    Raises:
        BadFrame: more than one host is named.
        Forbidden: the host or the origin is not allowed.
    """
    service.authenticator.check_host(headers.getlist("host"))
    service.authenticator.check_origin(headers.get("origin"), headers.get("host"))


class BodyLimit:
    """Middleware that refuses bodies over a limit, unread if `Content-Length` already exceeds it.

    If memory is limited, concurrent large bodies that may not fit into it are refused temporarily.

    Args:
        limit: maximum size of a body, in bytes.
        uploads: maximum size of an uploaded file, in bytes, if it is larger than `limit`.
    """

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY_BYTES, *, uploads: int = 0) -> None:
        self._app = app
        self._limit = limit
        self._uploads = max(limit, uploads)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._uploads if _UPLOAD.match(scope["path"]) else self._limit
        text = f"The body exceeds {limit} bytes"
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > limit:
            await problem_response(TooLarge(text))(scope, receive, send)
            return
        expected = _large(int(announced) if announced.isdecimal() else 0)
        if expected and not self._has_room(expected):
            await problem_response(overloaded(_NO_MEMORY))(scope, receive, send)
            return
        received, counted = 0, 0

        async def receive_counted() -> Message:
            nonlocal received, counted
            message = await receive()
            received += len(message.get("body", b""))
            # The framework only passes on its own exception.
            if received > limit:
                raise HTTPException(TooLarge.http_status, text)
            # An announced body that is not sent takes no memory, and none from other requests.
            self._under_way += _large(received) - counted
            counted = _large(received)
            if counted and not self._has_room():
                raise HTTPException(Overloaded.http_status, _NO_MEMORY, {"retry-after": "2"})
            return message

        try:
            await self._app(scope, receive_counted, send)
        finally:
            self._under_way -= counted

    def _has_room(self, more: int = 0) -> bool:
        """Return whether memory suffices for all active requests and this one."""
        room = memory_room()
        return room is None or (self._under_way + more) * _COPIES <= room - _KEPT_FREE


def _large(size: int) -> int:
    """Return the size of a large body; small bodies count as 0."""
    return size if size > _LARGE_BYTES else 0
