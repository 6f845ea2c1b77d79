"""Operator's end of the WebSocket: command replies and notices of new tasks."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio import client as websocket
from websockets.exceptions import ConnectionClosed

from app.cli.service_errors import CommandRefused, checked_token, checked_url, is_here
from app.cli.sockets import open_socket
from app.core.errors import InvalidInput

Frame = dict[str, Any]
ANSWER_S = 30.0
MAX_FRAME_BYTES = 1 << 16


@dataclass(slots=True)
class Link:
    """One open connection after its `hello`."""

    socket: websocket.ClientConnection
    heartbeat_s: float = 10.0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: dict[str, asyncio.Future[Frame]] = field(default_factory=dict)

    async def greet(self, hello: Frame) -> None:
        """Send `hello` and wait for `ready`.

        Raises:
            CommandRefused: The server refuses this operator.
            TimeoutError, ConnectionClosed: No answer arrived.
            ValueError, KeyError: The other side is not a Tollgate server.
        """
        await self.socket.send(json.dumps({"type": "hello", "id": _new_id(), **hello}))
        async with asyncio.timeout(ANSWER_S):
            while True:
                frame = json.loads(await self.socket.recv())
                if frame["type"] == "error":
                    raise CommandRefused(frame["error"].pop("message"), **frame["error"])
                if frame["type"] == "ready":
                    self.heartbeat_s = frame["heartbeat_ms"] / 1000
                    return

    async def command(self, kind: str, **fields: Any) -> Frame:
        """Send a command and return its result.

        Raises:
            CommandRefused: The server answered with an error.
            TimeoutError, ConnectionClosed: No answer arrived; the command may have run.
        """
        id_ = _new_id()
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = answer
        try:
            await self.socket.send(json.dumps({"type": kind, "id": id_, **fields}))
            async with asyncio.timeout(ANSWER_S):
                return await answer
        finally:
            self._waiting.pop(id_, None)

    async def read(self) -> None:
        """Receive messages until the connection ends.

        Raises:
            ConnectionClosed: The connection ended.
        """
        try:
            while True:
                self._take(json.loads(await self.socket.recv()))
        except ConnectionClosed as closed:
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(closed)
            raise

    async def beat(self) -> None:
        """Send heartbeats for as long as the connection lives."""
        while True:
            await asyncio.sleep(self.heartbeat_s)
            await self.command("heartbeat")

    def _take(self, frame: Frame) -> None:
        if frame["type"] == "task_available":
            self.news.set()
            return
        answer = self._waiting.get(str(frame.get("ref")))
        if answer is None or answer.done():
            return
        if frame["type"] == "ack":
            answer.set_result(frame["result"])
        elif frame["type"] == "error":
            error = dict(frame["error"])
            answer.set_exception(CommandRefused(error.pop("message"), **error))


def connect(url: str, token: str) -> websocket.connect:
    """Open the operator WebSocket of a service."""
    headers = {"Authorization": f"Bearer {checked_token(token)}"} if token else None
    return open_socket(url, "/desktop/ws", additional_headers=headers, max_size=MAX_FRAME_BYTES)


def checked_address(url: str, *, insecure: bool) -> str:
    """Return `url` if an operator can use it.

    Raises:
        InvalidInput: The address is invalid, or would expose the token on the network.
    """
    url = checked_url(url, schemes=("wss", "ws", "https", "http"))
    if urlsplit(url).scheme in ("ws", "http") and not is_here(url) and not insecure:
        raise InvalidInput(
            "Without TLS, others on the network can read the token and the messages: "
            "use wss://, or --insecure",
            field="url",
        )
    return url


def _new_id() -> str:
    return f"cmd_{uuid.uuid4().hex}"
