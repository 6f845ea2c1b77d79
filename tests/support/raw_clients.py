"""Misbehaving clients: raw sockets that stop half-way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 60


@dataclass(frozen=True)
class Answer:
    """Response as received."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        """Return its JSON body."""
        reported: dict[str, Any] = json.loads(self.body)
        return reported


class RawClient:
    """Connection of which the test controls every byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)
        await self.writer.drain()

    async def answer(self) -> Answer:
        """Return the next response.

        Raises:
            IncompleteReadError: the service has closed the connection without one.
        """
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in fields}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(head[0].split()[1]), headers, body)

    async def end(self) -> bytes:
        """Return all data until the service closes the connection."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


@asynccontextmanager
async def raw_client(url: str, *, source: str | None = None) -> AsyncIterator[RawClient]:
    """Connect to a service, optionally from another loopback address."""
    where = urlsplit(url)
    local = (source, 0) if source else None
    reader, writer = await asyncio.open_connection(where.hostname, where.port, local_addr=local)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()


def request(path: str, *lines: str, method: str = "GET", host: str = "127.0.0.1") -> str:
    """Return a request without a body."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""))


HALF_BODY = "Content-Type: application/json", "Content-Length: 9"


async def first_refusal(url: str, text: str, *, source: str | None = None) -> Answer:
    """Repeat a request until it is refused; return the refusal."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with raw_client(url, source=source) as client:
                await client.send(text)
                answer = await client.answer()
            if answer.status == 503:
                return answer


async def send_slowly(client: RawClient, first: str, pause_s: float) -> None:
    """Start a request, and continue byte by byte."""
    await client.send(first)
    while True:
        await client.send("a")
        await asyncio.sleep(pause_s)


async def ask_for_ever(client: RawClient, asked: str) -> None:
    """Send requests continuously, and read nothing."""
    while True:
        await client.send(asked)
        await asyncio.sleep(0.01)


async def until_it_listens(port: int, process: asyncio.subprocess.Process) -> None:
    """Wait until a program accepts connections."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            assert process.returncode is None, "the program has ended"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


HEALTH = request("/api/v1/health")
