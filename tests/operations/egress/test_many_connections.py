"""One command may use many connections, one after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.operations.egress.servers import Hosts, echo, hello, programs

pytestmark = pytest.mark.asyncio

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
