"""Server of a model's API with scripted responses, initially an image."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@dataclass
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class Maker:
    """Next response, and received requests. `endless` never stops answering.

    `answer` may be a function of the request.
    """

    url: str = ""
    status: int = 200
    answer: Any = None
    location: str = ""
    encoding: str = ""
    endless: bool = False
    silent: bool = False
    asked: list[Asked] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await _request(reader))
            if self.silent:
                await reader.read()
            await self._respond(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has seen enough
        finally:
            writer.close()

    async def _respond(self, writer: asyncio.StreamWriter) -> None:
        if self.endless:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
        answer = self.answer(self.asked[-1]) if callable(self.answer) else self.answer
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        head = f"HTTP/1.1 {self.status} Said\r\ncontent-length: {len(body)}\r\n"
        if self.encoding:
            head += f"content-encoding: {self.encoding}\r\n"
        if self.location:
            head += f"location: {self.location}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split()[1], headers, body)


@asynccontextmanager
async def making() -> AsyncIterator[Maker]:
    """Run a server on a free port of this machine."""
    maker = Maker(answer={"data": [{"b64_json": base64.b64encode(PNG).decode()}]})
    server = await asyncio.start_server(maker.serve, "127.0.0.1", 0)
    maker.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield maker
    finally:
        server.close()
