"""HTTP of one connection, with deadlines for its client's requests and reads.

Without them, a client that sends half a request or leaves a response unread would occupy its
connection forever. After a deadline the connection is closed, with status 408 if the service can
still respond.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.api.connection_limits import (
    EXTENSION,
    SHARE_FULL,
    ConnectionLimits,
    ConnectionSlot,
    overloaded,
    plain_address,
)
from app.api.errors import problem_response
from app.api.rest.routing import ALWAYS_ANSWERED
from app.api.ws.frame_writer import FastWebSocketProtocol
from app.core.errors import BadFrame, HeadersTooLarge, RequestTimeout, TollgateError

MAX_HEAD_BYTES = 64 << 10
BODY_BYTES_PER_S = 16 << 10
_FULL = "All connections are in use; try again later"

Reading = Literal["idle", "head", "body", "done"]


class ServingConfig(Config):
    """uvicorn's configuration with the connection limits."""

    def __init__(self, app: Any, places: ConnectionLimits, **options: Any) -> None:
        super().__init__(app, **options)
        self.places = places


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a connection slot, deadlines and errors as problem details."""

    def __init__(
        self,
        config: ServingConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._places = config.places
        self._settings = config.places.settings
        self._slot: ConnectionSlot | None = None
        self._reading: Reading = "head"
        self._since = time.monotonic()
        self._received = 0
        self._blocked_since: float | None = None
        self._closing_since: float | None = None

    # -- holder of a slot -------------------------------------------------------------

    def is_waiting_since(self) -> float | None:
        return self._since if self._reading in ("idle", "head") else None

    def is_incomplete(self) -> bool:
        return self._reading == "body" and not self.transport.is_closing()

    def is_answering(self) -> bool:
        return self._reading == "done" and self._is_answering()

    def drop(self) -> None:
        self.transport.abort()

    def look_after(self, now: float) -> None:
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
        unread = self._blocked_since or self._closing_since
        if unread is not None and now - unread > self._settings.write_timeout_s:
            self.transport.abort()
        elif not self.transport.is_closing():
            self._look_after_reading(now)

    def _look_after_reading(self, now: float) -> None:
        if self._reading == "idle":
            # uvicorn does not set its timer if the response completes before the request body.
            if now - self._since > self._settings.idle_timeout_s:
                self.transport.close()
        elif self._reading == "head":
            if self._is_answering():
                self._since = now  # the previous request is not answered yet
            elif now - self._since > self._settings.header_timeout_s:
                self._too_slow("headers")
        elif self._reading == "body":
            if self.flow.read_paused:
                self._since = now  # the service itself has paused reading
            allowed = self._settings.body_timeout_s + self._received / BODY_BYTES_PER_S
            if now - self._since > allowed:
                self._too_slow("body")

    def _too_slow(self, what: str) -> None:
        if what == "headers" and not self._received:
            self.transport.close()
            return
        self.refuse(RequestTimeout(f"The {what} of the request did not arrive in time"))

    def refuse(self, error: TollgateError) -> None:
        """Respond instead of the application, and close the connection."""
        if not self._may_answer():
            self.transport.close()
            return
        if self._is_answering():
            # Make the application see a disconnected client.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        answer = problem_response(error)
        head = [STATUS_LINE[answer.status_code]]
        for name, value in (*answer.raw_headers, (b"connection", b"close")):
            head += (name, b": ", value, b"\r\n")
        self.transport.write(b"".join((*head, b"\r\n", bytes(answer.body))))
        self.transport.close()

    # -- the protocol -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None:
            self.client = (plain_address(self.client[0]), self.client[1])
        self._slot = self._places.open(self, self.client[0] if self.client else None)
        if self._slot.is_spare:
            self.app = self._answered_once(self.app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._slot is not None:
            self._slot.release()

    def data_received(self, data: bytes) -> None:
        if self._reading == "idle":
            self._begin_head()
        self._received += len(data)
        super().data_received(data)
        if self._reading == "head" and self._received > MAX_HEAD_BYTES:
            self.refuse(HeadersTooLarge(f"The headers exceed {MAX_HEAD_BYTES} bytes"))

    def send_400_response(self, msg: str) -> None:
        self.refuse(BadFrame("Invalid HTTP request"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._reading != "head":
            self._begin_head()
            self._received = 1  # it arrived together with the end of the previous request
        self.scope["extensions"] = {EXTENSION: self._slot}  # type: ignore[dict-item]

    def on_headers_complete(self) -> None:
        if not self.url.startswith(b"/"):
            # An absolute URL names a second host, which is not checked.
            raise ValueError("the request target must be a path")
        slot = self._slot
        assert slot is not None
        said = [value for name, value in self.headers if name == b"x-forwarded-for"]
        if not self._places.begin_request(slot, said):
            self.app = self._answered_once(self.app, SHARE_FULL)
        super().on_headers_complete()
        self._reading, self._since, self._received = "body", time.monotonic(), 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading = "done"
        if not (self.parser.should_upgrade() and self._should_upgrade()):
            self._wait_if_all_is_answered()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._reading == "done":
            self._wait_if_all_is_answered()

    def _wait_if_all_is_answered(self) -> None:
        """Start waiting for the next request once this request and its response are complete."""
        if self._is_answering():
            return
        self._reading, self._since = "idle", time.monotonic()
        if self._slot is not None:
            self._places.end_request(self._slot)

    def _is_answering(self) -> bool:
        """Return whether the newest request with a complete head is still unanswered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _may_answer(self) -> bool:
        """Return whether a response sent now cannot be mistaken for that of another request."""
        if self._reading == "body":
            return not self.pipeline and not self.cycle.response_started
        return not self._is_answering()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._blocked_since = time.monotonic()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._blocked_since = None

    def handle_websocket_upgrade(self) -> None:
        slot = self._slot
        assert slot is not None
        if slot.is_spare:
            self.refuse(overloaded(_FULL))
            return
        self._reading = "done"
        super().handle_websocket_upgrade()
        protocol = self.transport.get_protocol()
        if isinstance(protocol, FastWebSocketProtocol):
            protocol.place, protocol.client = slot, self.client
            slot.holder = protocol

    def _begin_head(self) -> None:
        self._reading, self._since, self._received = "head", time.monotonic(), 0

    def _answered_once(self, app: ASGI3Application, why: str = _FULL) -> ASGI3Application:
        async def answer(
            scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
        ) -> None:
            self.cycle.keep_alive = False
            if scope["type"] == "http" and scope["path"] in ALWAYS_ANSWERED:
                await app(scope, receive, send)
            else:
                await problem_response(overloaded(why))(scope, receive, send)  # type: ignore[arg-type]

        return answer
