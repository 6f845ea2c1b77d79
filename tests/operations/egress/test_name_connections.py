"""Name lookups through TCP connections cost the proxy little, whatever a program sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.parts import SANDBOX
from tests.operations.egress.servers import Hosts, programs
from tests.support.binaries import needs

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]

PRELUDE = r"""
import socket, struct
def query(name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    message = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"
    return struct.pack(">H", len(message)) + message
def server():
    client = socket.create_connection(("127.0.0.1", 53))
    client.settimeout(60)
    return client
"""
NEVER_READS = """
client = server()
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
client.settimeout(1)
sent, part = 0, query("localhost") * 200
try:
    while sent < 64 << 20:
        sent += client.send(part)
except OSError as error:
    print("held back", sent < 64 << 20)
"""
ASKS_A_LOT_AT_ONCE = """
client = server()
try:
    client.sendall(query("localhost") * 100_000)
    while client.recv(1 << 16):
        pass
except OSError as error:
    print(type(error).__name__)
"""
MANY = """
kept = []
for number in range(40):
    try:
        client = server()
        client.sendall(query("localhost"))
        assert client.recv(99)[:2] == bytes((0, 43))
        kept.append(client)
    except (OSError, AssertionError):
        break
print(len(kept))
kept.pop().close()
for attempt in range(1000):
    try:
        client = server()
        client.sendall(query("localhost"))
        if client.recv(99):
            print("again")
            break
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (NEVER_READS, "held back True\n"),
        (ASKS_A_LOT_AT_ONCE, "ConnectionResetError\n"),
        (MANY, "32\nagain\n"),
    ],
)
async def test_a_program_that_misuses_name_lookups_by_tcp_is_held_back(
    program: str, said: str, tmp_path: Path
) -> None:
    async with programs(tmp_path, Hosts(), "web.example") as running:
        ran = await running.python(PRELUDE + program)

    assert ran.said == said
