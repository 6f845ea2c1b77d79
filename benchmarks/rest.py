"""Direct calls by REST, compared with a bare FastAPI route on the same server settings.

Servers run in separate processes and report their own CPU time. The floor validates the same
arguments with a model, calls the function and answers with a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from benchmarks.harness import Benchmark, Compared, Figures, Scale, interleave, run
from benchmarks.sample_tools import add_arguments
from benchmarks.served import PATIENCE_S, Served, serving

REQUESTS = 1500
CONNECTIONS = 64
Serving = AbstractAsyncContextManager[Served]


def _call_of_add(number: int) -> str:
    return f'{{"arguments":{add_arguments(number)}}}'


@dataclass(frozen=True, slots=True)
class Post:
    """Request that calls a tool.

    Attributes:
        body: of the request of this number.
        headers: further lines, each with its end.
        sign: part of every successful response.
    """

    path: str
    body: Callable[[int], str] = _call_of_add
    headers: str = ""
    sign: bytes = b"result"


TOLLGATE = Post("/api/v1/tools/add/call")
BARE = Post("/tools/add/call")


class HttpClient:
    """One connection that is kept open."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._head = head

    @classmethod
    async def connect(cls, url: str, post: Post) -> HttpClient:
        """Connect for requests to `post`."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = (
            f"POST {post.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{post.headers}"
            "Content-Type: application/json\r\nContent-Length: "
        )
        return cls(reader, writer, head)

    async def ask(self, body: str) -> bytes:
        """Send a request; return the body of its response.

        Raises:
            RuntimeError: the status is not 200.
        """
        self._writer.write(f"{self._head}{len(body)}\r\n\r\n{body}".encode())
        async with asyncio.timeout(PATIENCE_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"unexpected response: {head!r}")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            return await self._reader.readexactly(int(length))

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def _connected(server: Served, post: Post, count: int) -> AsyncIterator[list[HttpClient]]:
    clients = [await HttpClient.connect(server.url, post) for _ in range(count)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


async def compare_calls(connections: int, scale: Scale, other: Serving, post: Post) -> Compared:
    """Compare calls of Tollgate with `post` to another server."""
    each = max(1, scale.count(REQUESTS) // connections)
    async with (
        serving("tollgate") as service,
        other as compared,
        _connected(service, TOLLGATE, connections) as ours,
        _connected(compared, post, connections) as theirs,
    ):

        async def turn(server: Served, clients: list[HttpClient], post: Post) -> Figures:
            before = await server.cpu()
            await asyncio.gather(*(_ask(client, post, each) for client in clients))
            after = await server.cpu()
            return {"cpu": (after - before) * 1e6 / (each * connections)}

        return await interleave(
            scale.rounds,
            lambda: turn(service, ours, TOLLGATE),
            lambda: turn(compared, theirs, post),
        )


async def _ask(client: HttpClient, post: Post, count: int) -> None:
    for number in range(count):
        answer = await client.ask(post.body(number))
        if post.sign not in answer:
            raise RuntimeError(f"unexpected answer: {answer!r}")


def _benchmark(name: str, about: str, connections: int) -> Benchmark:
    return Benchmark(
        (name,),
        about,
        lambda scale: [
            run(compare_calls(connections, scale, serving("floor"), BARE)).result(
                name, "server CPU us/call"
            )
        ],
    )


BENCHMARKS = (
    _benchmark("rest_call", "a call by REST; floor: a FastAPI route with models", 1),
    _benchmark(
        "rest_call_64",
        "the same on 64 connections; floor: a FastAPI route with models",
        CONNECTIONS,
    ),
)
