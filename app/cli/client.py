"""Client of the `tollgate.v1` protocol that reconnects after a lost connection.

    async with WsClient("http://127.0.0.1:8420") as client:
        await client.subscribe(session_id) await client.command("user_message",
            session_id=session_id, content="hello") async for event in client.events():
            ...

After a loss it reconnects, resends unanswered commands (IDs make that safe) and resumes each
session after the last event it returned: no event is lost or repeated.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from websockets.asyncio import client as websocket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from app.cli.service_errors import CommandRefused, ConnectionFailed
from app.cli.sockets import open_socket

Event = dict[str, Any]
State = Literal["connected", "lost", "closed"]

PROTOCOL = "tollgate.v1"
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
COMMAND_TIMEOUT_S = 60.0
MISSED_HEARTBEATS = 2.4
MAX_WAITING_EVENTS = 10_000
MAX_FRAME_BYTES = 16 << 20


@dataclass(slots=True)
class Position:
    """Position of a session. `catching_up` is set between a gap and its replay."""

    epoch: str | None = None
    seq: int = 0
    catching_up: bool = False


@dataclass(slots=True)
class _Waiting:
    frame: Event
    answer: asyncio.Future[Event]


@dataclass(slots=True)
class WsClient:
    """Connection to one server, kept open until `close`.

    Attributes:
        url: `http://host:port` of the service.
        on_state: Called when the connection opens, is lost (with the reason) and ends.
        ready: The server's `ready` message, updated on each connect.
        positions: Position of each subscribed session.
        inbox: Cursor of the pending requests, once `watch_inbox` was called.
    """

    url: str
    token: str | None = None
    name: str = "tollgate-client"
    on_state: Callable[[State, str], None] = lambda _state, _detail: None
    ready: Event = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    inbox: str | None = None
    _socket: websocket.ClientConnection | None = None
    _task: asyncio.Task[None] | None = None
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _events: deque[Event] = field(default_factory=deque)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: ConnectionFailed | None = None
    _pause_s: float = 0.0

    async def __aenter__(self) -> WsClient:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def connect(self) -> Event:
        """Connect, send `hello` and return the server's `ready` message.

        Raises:
            ConnectionFailed: The server does not answer or refuses the connection.
        """
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(first))
        await first
        return self.ready

    async def close(self) -> None:
        """Close the connection. Runs continue: a closed socket cancels nothing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._end(ConnectionFailed("The client is closed"))

    async def command(self, kind: str, **fields: Any) -> Event:
        """Send a command and return the result of its `ack`.

        Raises:
            CommandRefused: The server answered with an error.
            ConnectionFailed: The connection ended permanently, or no answer arrived.
        """
        if self._failure is not None:
            raise self._failure
        frame = {"v": 1, "type": kind, "id": f"cmd_{uuid.uuid4().hex}", **fields}
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._waiting[frame["id"]] = _Waiting(frame, answer)
        try:
            await self._send(frame)
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                return await answer
        except TimeoutError:
            raise ConnectionFailed(f"The server did not answer {kind!r}") from None
        finally:
            self._waiting.pop(frame["id"], None)

    async def subscribe(
        self, session_id: str, *, after: int = 0, epoch: str | None = None
    ) -> Event:
        """Subscribe to a session after the position `after`; return the server's `subscribed`.

        Raises:
            CommandRefused, ConnectionFailed: As `command`.
        """
        position = self.positions.setdefault(session_id, Position(epoch, after))
        try:
            return await self.command("subscribe", **_place(session_id, position))
        except CommandRefused:
            del self.positions[session_id]
            raise

    async def watch_inbox(self) -> Event:
        """Watch pending requests; return the server's `inbox`, with all entries.

        Changes are among the `events`, also after a lost connection.

        Raises:
            CommandRefused, ConnectionFailed: As `command`.
        """
        return await self.command("subscribe_inbox")

    async def drop(self) -> None:
        """Drop the connection as a bad network would, then resume it."""
        if self._socket is not None:
            self._socket.transport.abort()

    async def events(self) -> AsyncIterator[Event]:
        """Yield every event of the subscribed sessions in order, each `subscribed`, and changes
        of the inbox; an `inbox` with all entries if some were missed.

        Raises:
            ConnectionFailed: The connection ended permanently.
        """
        while True:
            while self._events:
                yield self._events.popleft()
            if self._failure is not None:
                raise self._failure
            self._arrived.clear()
            await self._arrived.wait()

    async def _run(self, first: asyncio.Future[None]) -> None:
        attempt = 0
        while True:
            try:
                async with self._open() as socket:
                    hello = await self._greet(socket)
                    attempt = 0
                    self._socket = socket
                    if not first.done():
                        first.set_result(None)
                    self.on_state("connected", self.url)
                    await self._resume()
                    await self._read(socket, hello)
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
                reason, final = _reason(error)
            except InvalidURI as error:
                reason, final = str(error), True
            except (ValueError, KeyError, TypeError) as error:
                reason, final = f"not a Tollgate server ({error!r})", True
            finally:
                self._socket = None
            if final or not first.done():
                self._end(ConnectionFailed(f"{self.url}: {reason}"), first)
                return
            self.on_state("lost", reason)
            delay = random.uniform(0, min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**attempt))  # noqa: S311 - spreads clients
            attempt = min(attempt + 1, 10)
            pause, self._pause_s = max(delay, self._pause_s), 0.0
            await asyncio.sleep(pause)

    def _open(self) -> websocket.connect:
        return open_socket(self.url, "/ws", subprotocols=[PROTOCOL], max_size=MAX_FRAME_BYTES)

    async def _greet(self, socket: websocket.ClientConnection) -> str:
        """Send `hello` and wait for `ready`; return the ID of the `hello`."""
        hello: Event = {"v": 1, "type": "hello", "id": f"cmd_{uuid.uuid4().hex}"}
        hello["client"] = self.name
        if self.token:
            hello["auth"] = {"token": self.token}
        await socket.send(json.dumps(hello))
        async with asyncio.timeout(10):
            while True:
                message = json.loads(await socket.recv())
                if message["type"] == "ready":
                    self.ready = message
                    return str(hello["id"])

    async def _resume(self) -> None:
        """Request missed events, then resend unanswered commands."""
        waiting = [item.frame for item in self._waiting.values()]
        asked = {frame["session_id"] for frame in waiting if frame["type"] == "subscribe"}
        for session_id in self.positions.keys() - asked:
            await self._catch_up(session_id)
        if self.inbox is not None:
            frame: Event = {"v": 1, "type": "subscribe_inbox", "id": f"cmd_{uuid.uuid4().hex}"}
            await self._send(frame | {"after": self.inbox})
        for frame in waiting:
            if frame["type"] == "subscribe":
                frame.update(_place(frame["session_id"], self.positions[frame["session_id"]]))
            await self._send(frame)

    async def _catch_up(self, session_id: str) -> None:
        position = self.positions[session_id]
        position.catching_up = True
        frame = {"v": 1, "type": "subscribe", "id": f"cmd_{uuid.uuid4().hex}"}
        await self._send(frame | _place(session_id, position))

    async def _send(self, frame: Event) -> None:
        """Send now, or on the next connection."""
        if self._socket is not None:
            with suppress(ConnectionClosed):
                await self._socket.send(json.dumps(frame))

    async def _read(self, socket: websocket.ClientConnection, hello: str) -> None:
        silence = self.ready.get("heartbeat_ms", 25_000) / 1000 * MISSED_HEARTBEATS
        while True:
            async with asyncio.timeout(silence):
                message: Event = json.loads(await socket.recv())
            if message.get("ref") != hello:
                await self._take(message)

    async def _take(self, message: Event) -> None:
        kind = message["type"]
        if kind == "ack":
            self._answer(message["ref"], message["result"])
        elif kind == "error":
            self._refuse(message)
        elif kind == "subscribed":
            self._subscribed(message)
        elif kind in ("inbox", "inbox_changed"):
            self._inbox_changed(message)
        elif kind == "heartbeat":
            await self._compare(message["heads"])
        elif kind == "going_away":
            self._pause_s = message["reconnect_after_ms"] / 1000
        elif "seq" in message:
            await self._take_durable(message)
        elif message.get("session_id") in self.positions and self._has_room:
            self._give(message)

    async def _take_durable(self, event: Event) -> None:
        position = self.positions.get(event["session_id"])
        if position is None:
            return
        same = event["epoch"] == position.epoch
        if same and event["seq"] <= position.seq:
            return
        if not same or event["seq"] != position.seq + 1:
            if not position.catching_up:
                await self._catch_up(event["session_id"])
            return
        position.seq = event["seq"]
        self._give(event)

    def _subscribed(self, message: Event) -> None:
        position = self.positions.get(message["session_id"])
        if position is not None:
            position.catching_up = False
            if not message["recovered"]:
                position.seq = message["head"]
            position.epoch = message["epoch"]
        self._give(message)
        self._answer(message["ref"], message)

    def _inbox_changed(self, message: Event) -> None:
        is_first, self.inbox = self.inbox is None, message["cursor"]
        if message["type"] == "inbox":
            self._answer(message["ref"], message)
        if message["type"] == "inbox_changed" or not (is_first or message["recovered"]):
            self._give(message)

    async def _compare(self, heads: dict[str, int]) -> None:
        """Detect a silent loss: the head is ahead of the position and nothing is in flight."""
        for session_id, head in heads.items():
            position = self.positions.get(session_id)
            if position is not None and head > position.seq and not position.catching_up:
                await self._catch_up(session_id)

    @property
    def _has_room(self) -> bool:
        """Return whether live output may be dropped from the queue; durable events never are."""
        return len(self._events) < MAX_WAITING_EVENTS

    def _answer(self, ref: str, result: Event) -> None:
        waiting = self._waiting.get(ref)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(result)

    def _refuse(self, message: Event) -> None:
        waiting = self._waiting.get(str(message.get("ref")))
        if waiting is not None and not waiting.answer.done():
            error = dict(message["error"])
            waiting.answer.set_exception(CommandRefused(error.pop("message"), **error))
        else:
            self._give(message)

    def _give(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()

    def _end(self, failure: ConnectionFailed, first: asyncio.Future[None] | None = None) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        if first is not None and not first.done():
            first.set_exception(failure)
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(failure)
        self._arrived.set()
        self.on_state("closed", failure.message)


def _place(session_id: str, position: Position) -> Event:
    place: Event = {"session_id": session_id, "after": position.seq}
    return place if position.epoch is None else {**place, "epoch": position.epoch}


def _reason(error: Exception) -> tuple[str, bool]:
    """Return why a connection failed, and whether a retry is pointless."""
    if isinstance(error, ConnectionClosed):
        code = error.rcvd.code if error.rcvd else 1006
        text = error.rcvd.reason if error.rcvd else "connection lost"
        return f"{text or 'closed'} ({code})", 4500 <= code < 5000
    if isinstance(error, TimeoutError):
        return "the server stopped responding", False
    if isinstance(error, InvalidHandshake):
        return f"the server refused the connection: {error}", False
    return f"cannot connect: {error.strerror or error}" if isinstance(error, OSError) else "", False
