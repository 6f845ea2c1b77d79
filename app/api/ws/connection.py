"""Connection of one client: a reader that never waits for tools, a worker that runs commands in
order, and a writer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from app import __version__
from app.api.auth import RECHECK_S
from app.api.connection_limits import sign_in
from app.api.deps import source_of
from app.api.principal import Principal
from app.api.service import Service
from app.api.ws import close_codes
from app.api.ws.commands import ClientCommand, Hello
from app.api.ws.dispatch import Dispatcher
from app.api.ws.error_boundary import contain
from app.api.ws.frame_writer import EXTENSION, RawWriter
from app.api.ws.frames import Refused, error_body, id_of, parse_command, receive_text
from app.api.ws.inbox_subscription import InboxSubscription
from app.api.ws.limits import CommandRate, Remembered
from app.api.ws.outbox import Outbox
from app.api.ws.rights import end_of_rights, wait_for_end_of_rights
from app.api.ws.subscription import Subscription
from app.core.clock import stamp
from app.core.errors import (
    Forbidden,
    RateLimited,
    TollgateError,
    Unauthenticated,
)
from app.core.ids import new_id
from app.events.control import (
    Ack,
    ConnectionReady,
    ErrorMessage,
    GoingAway,
    Heartbeat,
    ServiceCondition,
)
from app.events.envelope import Wire
from app.execution.conditions import HealthCondition

log = logging.getLogger(__name__)

MAX_WAITING_COMMANDS = 256
MAX_BAD_FRAMES = 20
MAX_REFUSALS = 200
_REPEATABLE = frozenset(
    {
        *("subscribe", "unsubscribe", "subscribe_conditions"),
        *("subscribe_inbox", "unsubscribe_inbox", "ping"),
    }
)


class Connection:
    """Serves one accepted WebSocket until it closes."""

    def __init__(
        self,
        socket: WebSocket,
        service: Service,
        remembered: Remembered,
        *,
        principal: Principal | None,
    ) -> None:
        settings = service.settings
        self.id = new_id("con")
        self._socket = socket
        self._service = service
        self._remembered = remembered
        self._principal = principal
        self._outbox = Outbox(max_frames=settings.outbox_frames, max_bytes=settings.outbox_bytes)
        self._rate = CommandRate(settings.command_rate, settings.command_burst)
        self._commands: asyncio.Queue[ClientCommand] = asyncio.Queue(MAX_WAITING_COMMANDS)
        self.subscriptions: dict[str, Subscription] = {}
        self.inbox: InboxSubscription | None = None
        self._bad_frames = 0
        self._refusals = 0
        self.on_ready: Callable[[], bool] = lambda: True

    @property
    def principal(self) -> Principal:
        """Principal of the connection; known after `hello`."""
        assert self._principal is not None
        return self._principal

    async def serve(self) -> close_codes.Close:
        """Communicate until either side ends the connection; return how to close it."""
        try:
            async with asyncio.timeout(self._service.settings.hello_timeout_s):
                hello = await self._hello()
        except TimeoutError:
            return close_codes.HELLO_TIMEOUT
        if isinstance(hello, close_codes.Close):
            return hello
        sign_in(self._socket.scope)
        if not self.on_ready():
            return close_codes.CONNECTION_LIMIT
        self._ready(hello)
        parts = [
            asyncio.create_task(part)
            for part in (self._read(), self._work(), self._write(), self._beat(), self._guard())
        ]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            self._service.conditions.listeners.discard(self._changed)
            for subscription in self.subscriptions.values():
                subscription.stop()
            if self.inbox is not None:
                self.inbox.stop()
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    def send(self, message: Wire) -> None:
        """Queue a control message."""
        self._outbox.put(message.model_dump_json(exclude_none=True).encode())

    def going_away(self, reason: str, reconnect_after_ms: int) -> None:
        """Tell the client that the server is about to stop."""
        self.send(GoingAway(reason=reason, reconnect_after_ms=reconnect_after_ms))

    @property
    def outbox(self) -> Outbox:
        return self._outbox

    def watch_conditions(self) -> list[ServiceCondition]:
        """Send every condition that starts or ends from now on; return the current ones."""
        conditions = self._service.conditions
        conditions.listeners.add(self._changed)
        return [self._message_of(item, lasts=True) for item in conditions.noted]

    def _changed(self, condition: HealthCondition, *, lasts: bool) -> None:
        self.send(self._message_of(condition, lasts=lasts))

    def _message_of(self, condition: HealthCondition, *, lasts: bool) -> ServiceCondition:
        return ServiceCondition(
            ts=stamp(self._service.clock.time()),
            code=condition.code,
            state="started" if lasts else "ended",
            refuses=condition.refuses,
            message=condition.message,
        )

    async def _hello(self) -> Hello | close_codes.Close:
        """Wait for a valid `hello` and authenticate the client."""
        try:
            command = parse_command(await receive_text(self._socket))
        except WebSocketDisconnect:
            return close_codes.GONE
        except Refused as refused:
            await self._send_now(refused)
            return close_codes.BAD_FRAME
        if not isinstance(command, Hello):
            return close_codes.PROTOCOL_VIOLATION
        try:
            await self._establish(command)
        except Unauthenticated as error:
            await self._send_now(Refused(error, command.id))
            return close_codes.UNAUTHENTICATED
        except RateLimited as error:
            await self._send_now(Refused(error, command.id))
            return close_codes.RATE_LIMITED
        except TollgateError as error:
            # The client is not at fault and may reconnect.
            await self._send_now(Refused(error, command.id))
            return close_codes.INTERNAL
        return command

    async def _establish(self, hello: Hello) -> None:
        """Authenticate by the header (already checked), else by ticket, token or no credentials."""
        if self._principal is not None:
            return
        auth = hello.auth
        if auth and auth.ticket:
            principal = self._service.ws_tickets.redeem(auth.ticket)
            if await self._service.authenticator.standing(principal) != "holds":
                raise Unauthenticated("The credentials of the ticket have expired or been revoked")
            self._principal = principal
            return
        token = auth.token if auth else None
        self._principal = await self._service.authenticator.authenticate(
            token, source=source_of(self._socket)
        )

    def _ready(self, hello: Hello) -> None:
        settings = self._service.settings
        log.info("client %r connected as %r", hello.client or "unnamed", self.principal.user_id)
        limits = {
            "max_frame_bytes": settings.max_frame_bytes,
            "commands_per_second": int(settings.command_rate),
            "command_burst": settings.command_burst,
            "max_subscriptions": settings.max_subscriptions,
            "replay": settings.replay_limit,
        }
        ready = ConnectionReady(
            connection_id=self.id,
            server=f"tollgate/{__version__}",
            user_id=self.principal.user_id,
            heartbeat_ms=int(settings.heartbeat_s * 1000),
            limits=limits,
            features=["direct_calls", *(["model"] if self._service.has_model else [])],
        )
        self.send(ready)
        self.send(Ack(ref=hello.id, result={"connection_id": self.id}))

    async def _read(self) -> close_codes.Close:
        while True:
            try:
                text = await receive_text(self._socket)
            except WebSocketDisconnect:
                return close_codes.GONE
            ref: str | None = None
            try:
                # Before parsing, so that invalid frames count against the rate limit, too.
                self._rate.spend()
                command = parse_command(text)
                ref = command.id
                self._commands.put_nowait(command)
                # Only consecutive errors count: long connections may have occasional ones.
                self._refusals = self._bad_frames = 0
            except Refused as refused:
                self._bad_frames += 1
                self.send(ErrorMessage(ref=refused.ref, error=error_body(refused.error)))
                if self._bad_frames >= MAX_BAD_FRAMES:
                    return close_codes.BAD_FRAME
            except RateLimited as error:
                self._refusals += 1
                self.send(ErrorMessage(ref=id_of(text), error=error_body(error)))
                if self._refusals >= MAX_REFUSALS:
                    return close_codes.RATE_LIMITED
            except asyncio.QueueFull:
                busy = RateLimited("Too many commands are already waiting", retry_after_ms=500)
                self.send(ErrorMessage(ref=ref, error=error_body(busy)))

    async def _work(self) -> close_codes.Close:
        """Run commands one after another, in the order of the client."""
        dispatcher = Dispatcher(self._service, self)
        while True:
            command = await self._commands.get()
            if isinstance(command, Hello):
                return close_codes.PROTOCOL_VIOLATION
            end = await end_of_rights(self._service.authenticator, self.principal, active=True)
            if end is not None:
                return end
            await self._answer(dispatcher, command)

    async def _answer(self, dispatcher: Dispatcher, command: ClientCommand) -> None:
        """Send exactly one `ack` or `error`; a repeated command gets its first response."""
        done, error = await contain(self._once(dispatcher, command), command.type)
        if error is not None:
            if isinstance(error, Forbidden):
                source = source_of(self._socket)
                self._service.authenticator.forbade(
                    self.principal, error, source=source, what=command.type
                )
            self.send(ErrorMessage(ref=command.id, error=error_body(error)))
        elif done is not None and done[0] is not None:
            self.send(Ack(ref=command.id, result=done[0], duplicate=done[1]))

    async def _once(
        self, dispatcher: Dispatcher, command: ClientCommand
    ) -> tuple[dict[str, Any] | None, bool]:
        """Run a command, or return its first response with True if it is a repeat."""
        if command.type in _REPEATABLE:
            return await dispatcher.carry_out(command), False
        return await self._remembered.once(
            self.principal, command, partial(dispatcher.carry_out, command)
        )

    async def _write(self) -> close_codes.Close:
        timeout = self._service.settings.send_timeout_s
        raw: RawWriter | None = self._socket.scope.get("extensions", {}).get(EXTENSION)
        while True:
            bodies = await self._outbox.take()
            if self._outbox.overflowed:
                return close_codes.SLOW_CONSUMER
            try:
                if raw is not None:
                    await raw.write(bodies, timeout)
                else:
                    await self._write_asgi(bodies, timeout)
            except TimeoutError:
                return close_codes.SLOW_CONSUMER
            except (WebSocketDisconnect, ClientDisconnected, RuntimeError, OSError):
                # Starlette and uvicorn report a closed connection with these errors.
                return close_codes.GONE

    async def _write_asgi(self, bodies: list[bytes], timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            for body in bodies:
                await self._socket.send({"type": "websocket.send", "text": body.decode()})

    async def _beat(self) -> close_codes.Close:
        """Send heartbeats regularly."""
        while True:
            await asyncio.sleep(self._service.settings.heartbeat_s)
            heads = {key: item.log.committed for key, item in self.subscriptions.items()}
            self.send(Heartbeat(ts=stamp(self._service.clock.time()), heads=heads))

    async def _guard(self) -> close_codes.Close:
        """Wait for the end of the client's rights."""
        pause = min(RECHECK_S, self._service.settings.heartbeat_s)
        return await wait_for_end_of_rights(self._service.authenticator, self.principal, pause)

    async def _send_now(self, refused: Refused) -> None:
        message = ErrorMessage(ref=refused.ref, error=error_body(refused.error))
        body: dict[str, Any] = {
            "type": "websocket.send",
            "text": message.model_dump_json(exclude_none=True),
        }
        await self._socket.send(body)
