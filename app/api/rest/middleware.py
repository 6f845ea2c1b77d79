"""Checks that come before any route: whose host, which origin, how large a body."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import problem_response
from app.api.service import Service
from app.core.errors import Forbidden, TooLarge

MAX_BODY_BYTES = 8 << 20
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SameSite:
    """Refuses requests for foreign host names, and changes that foreign web pages ask for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service: Service = scope["app"].state.service
        headers = Headers(scope=scope)
        try:
            service.authenticator.check_host(headers.get("host"))
            if scope["method"] not in _SAFE_METHODS:
                service.authenticator.check_origin(headers.get("origin"), headers.get("host"))
        except Forbidden as error:
            await problem_response(error)(scope, receive, send)
            return

        async def send_unsniffed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-content-type-options"] = "nosniff"
            await send(message)

        await self._app(scope, receive, send_unsniffed)


class BodyLimit:
    """Refuses bodies over a limit: announced ones unread, others once they pass it."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._limit = limit
        self._message = f"The body is larger than {limit} bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._limit:
            await problem_response(TooLarge(self._message))(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                # The framework lets its own exception through, and no other.
                raise HTTPException(TooLarge.http_status, self._message)
            return message

        await self._app(scope, receive_counted, send)
