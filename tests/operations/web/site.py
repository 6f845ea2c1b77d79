"""A web server on loopback that says what it is told to, and an Internet of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpcore2

PUBLIC = "93.184.215.14"


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


Handler = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: bytes = b"", status: str = "200 OK", kind: str = "text/html", **headers: str
) -> bytes:
    """A whole response; `etag="x"` and the like become headers."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(place: str, status: int = 302) -> bytes:
    return answer(status=f"{status} Found", Location=place)


@dataclass
class Site:
    """`pages` by path: bytes as they go over the wire, or a function that writes them."""

    port: int = 0
    pages: dict[str, bytes | Handler] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until the other side ends it or the site is closed."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (asked := await _read(reader)) is not None:
            self.asked.append(asked)
            page = self.pages.get(asked.path, answer(b"none", "404 Not Found"))
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
            else:
                await page(asked, writer)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Site]:
    """A running site; `options` as of `asyncio.start_server`."""
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, **options)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in tuple(site.tasks):
            task.cancel()
        if site.tasks:
            await asyncio.wait(site.tasks)


class Names:
    """A resolver with a table; each name is asked for in turn of its answers."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        given = self.answers.get(host)
        if given is None:
            raise OSError(f"no such name: {host}")
        return given.pop(0) if len(given) > 1 else given[0]

    def close(self) -> None:
        return


class Internet(httpcore2.AsyncNetworkBackend):
    """Every address leads to one site; remembers which addresses were connected to."""

    def __init__(self, port: int) -> None:
        self.connected: list[tuple[str, int]] = []
        self._port = port
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.connected.append((host, port))
        return await self._network.connect_tcp("127.0.0.1", self._port, timeout)
