"""A server of somebody else's that notes what arrives and answers what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Arrived:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """What arrived, and what is answered."""

    port: int = 0
    arrived: list[Arrived] = field(default_factory=list)
    status: str = "200 OK"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"done": true}'

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.arrived.append(Arrived(method, target, headers, body))
        reported = self.headers | {"Content-Length": str(len(self.body)), "Connection": "close"}
        lines = [
            f"HTTP/1.1 {self.status}",
            *(f"{name}: {value}" for name, value in reported.items()),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if method != "HEAD":
            writer.write(self.body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def recording() -> AsyncIterator[Recorder]:
    """Serve on a free port of loopback."""
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    recorder.port = server.sockets[0].getsockname()[1]
    async with server:
        yield recorder
