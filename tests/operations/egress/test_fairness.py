"""What one sandbox asks of the proxy leaves the others served."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from scripts.parts import CURL, SANDBOX
from tests.operations.egress.servers import Hosts, hello, programs
from tests.support.binaries import needs

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]

MANY_CHUNKS = r"""
import selectors, socket
head = b"POST / HTTP/1.1\r\nHost: deaf.example\r\nTransfer-Encoding: chunked\r\n\r\n"
waiting = selectors.DefaultSelector()
for number in range(100):
    client = socket.create_connection(("deaf.example", 80))
    client.sendall(head)
    client.setblocking(False)
    waiting.register(client, selectors.EVENT_WRITE)
print("begun", flush=True)
part = b"1\r\nx\r\n" * 40_000
left = {}
while True:
    for key, _ in waiting.select():
        data = left.get(key.fd) or part
        sent = key.fileobj.send(data)
        left[key.fd] = data[sent:]
"""
MANY_HEADS = r"""
import os, socket
for number in range(4):
    os.fork()
print("begun", flush=True)
while True:
    try:
        with socket.create_connection(("web.example", 80)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: web.example\r\n" + b"a:\r\n" * 16_000)
    except OSError:
        pass
"""
MANY_REFUSALS = """
import os, socket
for number in range(4):
    os.fork()
print("begun", flush=True)
while True:
    try:
        with socket.create_connection(("127.0.0.1", 3128)) as client:
            client.sendall(b"CONNECT other.example:443 HTTP/1.1\\r\\n\\r\\n")
            client.recv(99)
    except OSError:
        pass
"""
NEVER_CLOSED = """
import os, socket
kept = []
for number in range(4):
    os.fork()
print("begun", flush=True)
while True:
    try:
        kept.append(socket.create_connection(("127.0.0.1", 53 if len(kept) % 2 else 3128)))
    except OSError:
        pass
"""


@pytest.mark.parametrize("program", [MANY_CHUNKS, MANY_HEADS, MANY_REFUSALS, NEVER_CLOSED])
@needs(CURL)
async def test_a_program_that_keeps_the_proxy_busy_leaves_other_sandboxes_served(
    program: str, tmp_path: Path
) -> None:
    places = Hosts()
    (tmp_path / "hostile").mkdir()
    (tmp_path / "other").mkdir()
    async with contextlib.AsyncExitStack() as ending:
        deaf = ending.enter_context(socket.create_server(("127.0.0.1", 0), backlog=300))
        places.places["deaf.example", 80] = deaf.getsockname()
        await ending.enter_async_context(places.serving("web.example", 80, hello))
        listed = ("web.example:80", "deaf.example:80")
        hostile = await ending.enter_async_context(programs(tmp_path / "hostile", places, *listed))
        other = await ending.enter_async_context(hostile.beside(tmp_path / "other", *listed))
        await ending.enter_async_context(hostile.going_on(program))
        said = [(await other.run("curl", "-sS", "http://web.example/")).said for _ in range(3)]

    assert said == ["GET / HTTP/1.1 | Host: web.example\n"] * 3
