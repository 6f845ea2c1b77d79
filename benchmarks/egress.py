"""Egress proxy: connections of a sandboxed program to a host by name, compared with the same
program outside the sandbox that connects to the server itself.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from app.core.host_rules import HostRules
from app.operations.egress.refusal import Destination
from app.operations.protocols.processes import ProcessLimits, ProcessSpec
from app.operations.sandbox.config import NO_NETWORK, Network, SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from benchmarks.byte_server import HOST
from benchmarks.harness import (
    TURN_S,
    Benchmark,
    Figures,
    Result,
    Scale,
    Skipped,
    Stopwatch,
    interleave,
    run,
)

CONNECTIONS, ROUND_TRIPS, MEGABYTES, AT_ONCE, STARTS = 400, 4_000, 256, 200, 60
NAME, PORT = "bytes.example", 7_000
# Prints microseconds per operation. A request is the number of bytes wanted, in 8 bytes.
_CLIENT = """
import selectors, socket, sys, time

def connected(wanted):
    one = socket.create_connection((host, port))
    one.sendall(wanted.to_bytes(8))
    return one

def connect(count):
    for _ in range(count):
        with connected(1) as one:
            assert one.recv(9) == bytes(1)

def round_trip(count):
    with socket.create_connection((host, port)) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            one.sendall((1).to_bytes(8))
            assert one.recv(9) == bytes(1)

def stream(count):
    with connected(count << 20) as one:
        drained(one, count << 20)

def drained(one, left):
    space = bytearray(1 << 20)
    while left:
        got = one.recv_into(space)
        assert got
        left -= got

def parallel(count):
    waiting, space = selectors.DefaultSelector(), bytearray(1 << 20)
    for _ in range(count):
        waiting.register(connected(1 << 20), selectors.EVENT_READ, [1 << 20])
    while waiting.get_map():
        for key, _ in waiting.select():
            got = key.fileobj.recv_into(space)
            assert got
            key.data[0] -= got
            if not key.data[0]:
                waiting.unregister(key.fileobj)
                key.fileobj.close()

host, port, work, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
began = time.perf_counter()
globals()[work](count)
print((time.perf_counter() - began) * 1e6 / count)
"""
Program = Callable[[Sequence[str]], Awaitable[str]]


class _Server:
    """`HostDestinations` that leads every host to the server."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def of(self, host: str, port: int) -> Sequence[Destination]:
        return [(HOST, self.port)]


@contextmanager
def _byte_server() -> Iterator[_Server]:
    words = [sys.executable, "-m", "benchmarks.byte_server"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield _Server(int(process.stdout.readline()))


@asynccontextmanager
async def _sandboxed(server: _Server, network: Network) -> AsyncIterator[Program]:
    """Provide the start of programs in a sandbox; it returns what they print.

    Raises:
        Skipped: this machine cannot give programs a private network.
    """
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        config = SandboxConfig(temporary=Path(name), warm_workers=0)
        async with Sandbox(config, destinations=server) as sandbox:
            found = (await sandbox.start()).levels["bash"]
            if not found.available or "namespaces" not in found.layers:
                raise Skipped(f"a network by name requires namespaces. {found.sentence}")
            async with SandboxedWorkspace(Path(name), sandbox=sandbox, network=network) as place:
                yield partial(_run, place)


async def _run(place: SandboxedWorkspace, words: Sequence[str]) -> str:
    spec = ProcessSpec(tuple(words), limits=ProcessLimits(wall_s=TURN_S))
    said = b""
    async with place.operations.processes.open(spec) as process:
        async for chunk in process.output():
            said += chunk.data
        ended = await process.wait()
    if ended.code != 0:
        raise RuntimeError(f"{words[0]} ended with {ended.code}: {said.decode(errors='replace')}")
    return said.decode()


async def _bare(words: Sequence[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {process.returncode}")
    return said.decode()


async def _compare(scale: Scale, work: str, count: int, unit: str) -> Result:
    """Compare one kind of work of the client."""
    network = Network(hosts=HostRules.of([f"{NAME}:{PORT}"]))
    with _byte_server() as server:
        async with _sandboxed(server, network) as program:

            async def client(start: Program, host: str, port: int) -> Figures:
                words = (sys.executable, "-I", "-S", "-c", _CLIENT, host, str(port))
                return {"wall": float(await start((*words, work, str(count))))}

            subject = partial(client, program, NAME, PORT)
            floor = partial(client, _bare, HOST, server.port)
            compared = await interleave(scale.rounds, subject, floor)
            return compared.result(f"egress_{work}", unit, "wall")


async def _compare_starts(scale: Scale) -> Result:
    """Compare the start of a program that may reach a host with one that may reach none."""
    count = scale.count(STARTS)
    with _byte_server() as server:
        listed = Network(hosts=HostRules.of([f"{NAME}:{PORT}"]))
        async with (
            _sandboxed(server, listed) as subject,
            _sandboxed(server, NO_NETWORK) as floor,
        ):

            async def starts(program: Program) -> Figures:
                watch = Stopwatch()
                for _ in range(count):
                    await program(("true",))
                return watch.per(count)

            compared = await interleave(
                scale.rounds, partial(starts, subject), partial(starts, floor)
            )
            return compared.result("egress_start", "wall us/start", "wall")


def _connections(scale: Scale) -> list[Result]:
    megabytes, at_once = scale.count(MEGABYTES), scale.count(AT_ONCE)
    trips = scale.count(ROUND_TRIPS)
    connections = scale.count(CONNECTIONS)
    return [
        run(_compare(scale, "connect", connections, "wall us/connection")),
        run(_compare(scale, "round_trip", trips, "wall us/round trip")),
        run(_compare(scale, "stream", megabytes, "wall us/MiB")),
        run(_compare(scale, "parallel", at_once, "wall us/connection")),
    ]


def _starts(scale: Scale) -> list[Result]:
    return [run(_compare_starts(scale))]


BENCHMARKS = (
    Benchmark(
        ("egress_connect", "egress_round_trip", "egress_stream", "egress_parallel"),
        "connection by name and first byte, round trip, 256 MiB on one connection, and 200 of 1 "
        "MiB at once; floor: the same program outside the sandbox",
        _connections,
    ),
    Benchmark(
        ("egress_start",),
        "`true` in the sandbox with an allowed host; floor: without",
        _starts,
    ),
)
