"""A provider on loopback that notes what arrives, and answers from a script."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

PATIENCE_S = 60


@dataclass(frozen=True)
class Arrival:
    """Request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """Scripted answer.

    Attributes:
        hangs: the connection ends without an answer, after the request has arrived.
        gate: the answer waits for it.
    """

    status: str = "200 OK"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    hangs: bool = False
    gate: asyncio.Event | None = None


class Provider:
    """HTTP server of a provider.

    Attributes:
        script: answers to the next requests; after them, `usual`.
        on_arrival, on_answer: called with each request, before and after its answer.
    """

    def __init__(self) -> None:
        self.port = 0
        self.arrived: list[Arrival] = []
        self.script: deque[Reply] = deque()
        self.usual = Reply()
        self.on_arrival: Callable[[Arrival], None] = lambda _: None
        self.on_answer: Callable[[Arrival], None] = lambda _: None
        self._news = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def until(self, count: int) -> list[Arrival]:
        """Wait until this many requests have arrived."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.arrived) < count:
                self._news.clear()
                await self._news.wait()
        return self.arrived

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        arrival = Arrival(method, target, headers, body)
        reply = self.script.popleft() if self.script else self.usual
        self.arrived.append(arrival)
        self._news.set()
        self.on_arrival(arrival)
        if reply.gate is not None:
            await reply.gate.wait()
        if reply.hangs:
            return False
        reported = {"Content-Length": str(len(reply.body)), **reply.headers}
        lines = [f"{name}: {value}" for name, value in reported.items()]
        writer.write("\r\n".join([f"HTTP/1.1 {reply.status}", *lines, "", ""]).encode())
        writer.write(reply.body)
        await writer.drain()
        self.on_answer(arrival)
        return True


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """Serve on a free port of loopback."""
    made = Provider()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
