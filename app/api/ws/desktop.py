"""`GET /api/v1/desktop/ws`: desktop operators, which claim tasks and report their outcome.

A connection belongs to one operator. Every command gets one `ack` or one `error`; the operator is
also notified when a task may be available.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Literal

from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from app.api.auth import RECHECK_S, bearer
from app.api.connection_limits import sign_in
from app.api.deps import source_of
from app.api.desktop_operators import DESKTOP_SCOPE, key_of
from app.api.principal import Principal
from app.api.service import Service
from app.api.ws import close_codes
from app.api.ws.desktop_commands import (
    Beat,
    ClaimTask,
    CompleteTask,
    FailTask,
    OperatorCommand,
    OperatorHello,
    ReleaseTask,
    ReportProgress,
    StartTask,
    parse_operator_command,
)
from app.api.ws.error_boundary import contain
from app.api.ws.frames import Refused, error_body, id_of, receive_text
from app.api.ws.limits import CommandRate
from app.api.ws.rights import end_of_rights, wait_for_end_of_rights
from app.channels import operator_messages as messages
from app.channels.operators import Operator
from app.core.errors import (
    Conflict,
    Forbidden,
    RateLimited,
    StorageUnavailable,
    TollgateError,
    TooLarge,
    Unauthenticated,
)
from app.core.ids import new_id
from app.events.control import Ack, ErrorMessage
from app.events.envelope import Wire

log = logging.getLogger(__name__)

router = APIRouter()
MAX_REFUSALS = 20
_BEATS_PER_LEASE = 3
_GONE = (WebSocketDisconnect, ClientDisconnected, RuntimeError, OSError)


class OperatorReady(Wire):
    """Response to `hello`."""

    type: Literal["ready"] = "ready"
    connection_id: str
    heartbeat_ms: int
    lease_ms: int


class TaskAvailable(Wire):
    """Notification that a task may be available."""

    type: Literal["task_available"] = "task_available"


@router.websocket("/api/v1/desktop/ws")
async def desktop(socket: WebSocket) -> None:
    """Serve the operators' protocol; see `docs/desktop-op-module.md`."""
    service: Service = socket.app.state.service
    how: close_codes.Close | None
    try:
        principal = await _principal(socket, service)
    except Forbidden as error:
        log.warning("desktop operator refused: %s", error.message)
        how = close_codes.FORBIDDEN
    except Unauthenticated:
        how = close_codes.UNAUTHENTICATED
    except RateLimited:
        how = close_codes.RATE_LIMITED
    except StorageUnavailable:
        how = close_codes.INTERNAL
    else:
        sign_in(socket.scope)
        await socket.accept()
        connection = OperatorConnection(socket, service, principal)
        how, _ = await contain(connection.serve(), f"desktop operator {connection.id}")
        if how is not close_codes.GONE:
            await _close(socket, how or close_codes.INTERNAL)
        return
    # Clients can only see a close code after the connection is accepted.
    await socket.accept()
    await _close(socket, how)


async def _principal(socket: WebSocket, service: Service) -> Principal:
    """Return the principal of the connection. Operators are programs and authenticate by header.

    Raises:
        Forbidden: the token lacks the scope `desktop`.
        RateLimited: too many attempts have failed.
        Unauthenticated: the token is invalid or missing.
    """
    authenticator = service.authenticator
    token = bearer(socket.headers.get("authorization"))
    principal = await authenticator.authenticate(token, source=source_of(socket))
    principal.require(DESKTOP_SCOPE)
    return principal


class OperatorConnection:
    """Serves one accepted WebSocket until it closes."""

    def __init__(self, socket: WebSocket, service: Service, principal: Principal) -> None:
        self.id = new_id("con")
        self._socket = socket
        self._service = service
        self._principal = principal
        self._desk = service.channels.operators
        self._rate = CommandRate(service.settings.command_rate, service.settings.command_burst)
        self._sending = asyncio.Lock()
        self._news = asyncio.Event()
        self._refusals = 0

    async def serve(self) -> close_codes.Close:
        """Communicate until either side ends the connection; return how to close it."""
        try:
            async with asyncio.timeout(self._service.settings.hello_timeout_s):
                hello = parse_operator_command(await receive_text(self._socket))
        except TimeoutError:
            return close_codes.HELLO_TIMEOUT
        except WebSocketDisconnect:
            return close_codes.GONE
        except Refused as refused:
            await self._refuse(refused.error, refused.ref)
            return close_codes.BAD_FRAME
        if not isinstance(hello, OperatorHello):
            return close_codes.PROTOCOL_VIOLATION
        operator = Operator(
            user_id=self._principal.user_id,
            key=key_of(self._principal),
            name=hello.operator,
            apps=hello.apps,
        )
        try:
            with self._desk.connection(operator, self.id, source_of(self._socket)):
                return await self._serve(operator, hello.id)
        except (Conflict, RateLimited) as error:
            # Its previous connection may still count as open: it may reconnect.
            await self._refuse(error, hello.id)
            return close_codes.RATE_LIMITED

    async def _serve(self, operator: Operator, ref: str) -> close_codes.Close:
        lease_ms = int(self._desk.lease_s * 1000)
        log.info("desktop operator %r of %r connected", operator.name, operator.user_id)
        with self._desk.news.listening(self._news.set):
            self._news.set()
            ready = OperatorReady(
                connection_id=self.id, heartbeat_ms=lease_ms // _BEATS_PER_LEASE, lease_ms=lease_ms
            )
            parts = [
                asyncio.create_task(part)
                for part in (self._read(operator, ready, ref), self._tell(operator), self._guard())
            ]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                return next(iter(done)).result()
            except _GONE:
                return close_codes.GONE
            finally:
                for part in parts:
                    part.cancel()
                await asyncio.gather(*parts, return_exceptions=True)
                await contain(self._desk.left(operator), f"leaving of {operator.name}")

    async def _read(self, operator: Operator, ready: OperatorReady, ref: str) -> close_codes.Close:
        await self._send(ready)
        await self._send(Ack(ref=ref, result={"connection_id": self.id}))
        while True:
            try:
                text = await receive_text(self._socket)
            except WebSocketDisconnect:
                return close_codes.GONE
            try:
                self._rate.spend()
                command = parse_operator_command(text)
            except Refused as refused:
                await self._refuse(refused.error, refused.ref)
                if self._refusals >= MAX_REFUSALS or isinstance(refused.error, TooLarge):
                    return close_codes.BAD_FRAME
                continue
            except RateLimited as error:
                await self._refuse(error, id_of(text))
                if self._refusals >= MAX_REFUSALS:
                    return close_codes.RATE_LIMITED
                continue
            if isinstance(command, OperatorHello):
                return close_codes.PROTOCOL_VIOLATION
            end = await end_of_rights(self._service.authenticator, self._principal)
            if end is not None:
                return end
            self._refusals = 0
            await self._answer(command, operator)

    async def _answer(self, command: OperatorCommand, operator: Operator) -> None:
        result, error = await contain(self._carry_out(command, operator), command.type)
        if error is not None:
            await self._send(ErrorMessage(ref=command.id, error=error_body(error)))
        else:
            await self._send(Ack(ref=command.id, result=result or {}))

    async def _carry_out(self, command: OperatorCommand, operator: Operator) -> dict[str, Any]:
        desk = self._desk
        match command:
            case ClaimTask():
                task = await desk.claim(operator, command.task_id)
                return {"task": None if task is None else task.model_dump()}
            case StartTask():
                await desk.start(operator, _claim(command))
            case ReportProgress():
                progress = messages.OperatorProgress(stage=command.stage, message=command.message)
                await desk.progress(operator, _claim(command), progress)
            case CompleteTask():
                done = messages.Done(verified=command.verified, detail=command.detail)
                await desk.complete(operator, _claim(command), done)
            case FailTask():
                failed = messages.Failed(code=command.code, detail=command.detail)
                await desk.fail(operator, _claim(command), failed)
            case ReleaseTask():
                await desk.release(operator, _claim(command))
            case Beat():
                if command.claim is not None:
                    await desk.beat(operator, command.claim)
        return {}

    async def _tell(self, operator: Operator) -> close_codes.Close:
        """Notify the operator when a task is available."""
        while True:
            await self._news.wait()
            self._news.clear()
            waiting, _ = await contain(self._desk.waiting(operator), "looking for tasks")
            if waiting:
                await self._send(TaskAvailable())

    async def _guard(self) -> close_codes.Close:
        """Wait for the end of the operator's rights."""
        pause = min(RECHECK_S, self._service.settings.heartbeat_s)
        return await wait_for_end_of_rights(self._service.authenticator, self._principal, pause)

    async def _refuse(self, error: TollgateError, ref: str | None) -> None:
        self._refusals += 1
        await self._send(ErrorMessage(ref=ref, error=error_body(error)))

    async def _send(self, message: Wire) -> None:
        text = message.model_dump_json(exclude_none=True)
        async with self._sending, asyncio.timeout(self._service.settings.send_timeout_s):
            await self._socket.send({"type": "websocket.send", "text": text})


def _claim(command: messages.Claim) -> messages.Claim:
    return messages.Claim(task_id=command.task_id, claim_id=command.claim_id)


async def _close(socket: WebSocket, how: close_codes.Close) -> None:
    with suppress(RuntimeError, OSError):  # the client closed it first
        await socket.close(how.code, how.reason)
