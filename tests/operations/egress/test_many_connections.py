"""One command may use many connections, one after another or at once."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from scripts.parts import SANDBOX
from tests.operations.egress.servers import Hosts, echo, hello, programs
from tests.support.binaries import needs

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]

CLOSED_BY_THE_SERVER = """
import urllib.request
for number in range(300):
    urllib.request.urlopen("http://web.example/").read()
print("done")
"""
CLOSED_BY_THE_PROGRAM = """
import socket
for number in range(300):
    with socket.create_connection(("db.example", 5432)) as server:
        server.sendall(b"x")
        assert server.recv(1) == b"x"
        if number % 2:
            server.shutdown(socket.SHUT_WR)
            assert server.recv(1) == b""
print("done")
"""


@pytest.mark.parametrize("program", [CLOSED_BY_THE_SERVER, CLOSED_BY_THE_PROGRAM])
async def test_a_connection_that_both_sides_have_ended_is_not_counted_any_more(
    program: str, tmp_path: Path
) -> None:
    places = Hosts()
    async with (
        places.serving("web.example", 80, hello),
        places.serving("db.example", 5432, echo),
        programs(tmp_path, places, "web.example:80", "db.example:5432") as running,
    ):
        ran = await running.python(program)

    assert ran.said == "done\n"
    assert {verdict for _, _, verdict in ran.verdicts()} == {"allowed"}
    assert len(ran.made) == 300


NEVER_READS = """
import socket, time
kept = []
for number in range(250):
    client = socket.create_connection(("big.example", 5432))
    client.sendall(b"x")
    kept.append(client)
for client in kept:
    assert client.recv(1)
time.sleep(3)
"""
NEVER_READ = """
import selectors, socket, time
waiting = selectors.DefaultSelector()
for number in range(250):
    client = socket.create_connection(("deaf.example", 5432))
    client.setblocking(False)
    waiting.register(client, selectors.EVENT_WRITE)
while ready := waiting.select(1):
    for key, _ in ready:
        key.fileobj.send(bytes(1 << 20))
print("full")
"""


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send for ever what nobody reads."""
    while await reader.read(1):
        while True:
            writer.write(bytes(1 << 20))
            await writer.drain()


async def test_what_nobody_reads_costs_the_proxy_little_memory(tmp_path: Path) -> None:
    places = Hosts()
    async with contextlib.AsyncExitStack() as ending:
        deaf = ending.enter_context(socket.create_server(("127.0.0.1", 0), backlog=300))
        places.places["deaf.example", 5432] = deaf.getsockname()
        await ending.enter_async_context(places.serving("big.example", 5432, endless))
        listed = ("big.example:5432", "deaf.example:5432")
        running = await ending.enter_async_context(programs(tmp_path, places, *listed))
        await running.python(NEVER_READS)
        ran = await running.python(NEVER_READ)
        peak = running.proxy_peak_bytes()

    assert ran.said == "full\n"
    assert peak < 200 << 20
