"""Server processes, and their cost."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Skipped
from benchmarks.wire import WireClient

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60
SETTINGS = {
    "TOLLGATE_MAX_CONNECTIONS": "10000",
    "TOLLGATE_LOG_LEVEL": "warning",
    "TOLLGATE_ALLOW_ANONYMOUS": "true",
}
_URL = re.compile(rb"http://[\w.:]+")


@dataclass(slots=True)
class Served:
    """Running child; `kind` is `tollgate`, `floor` or the name of a peer."""

    kind: str
    process: asyncio.subprocess.Process
    url: str
    session_id: str

    async def tell(self, **order: Any) -> float:
        """Send an order; return the CPU seconds of the process so far."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        return float(json.loads(line)["cpu"])

    async def cpu(self) -> float:
        return await self.tell(do="cpu")

    async def client(self, path: str) -> WireClient:
        """Connect: greeted for the real service, otherwise to `path` of the other."""
        if self.kind != "tollgate":
            return await WireClient.connect(self.url, path)
        client = await WireClient.connect(self.url, "/api/v1/ws")
        client.send(b'{"type":"hello","id":"hello"}')
        await client.until(2)
        return client


@asynccontextmanager
async def serving(kind: str) -> AsyncIterator[Served]:
    """Run a child of `kind` until the block ends."""
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        words = (sys.executable, "-m", "benchmarks.child", kind, folder)
        async with serving_program(kind, words) as served:
            yield served


@asynccontextmanager
async def serving_program(kind: str, words: Sequence[str], **options: Any) -> AsyncIterator[Served]:
    """Run a server that obeys orders, like `benchmarks.child`, until the block ends."""
    async with started(*words, **options) as process:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {kind} server did not start")
        said = json.loads(line)
        yield Served(kind, process, said["url"], said["session_id"])


@asynccontextmanager
async def started(*words: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a process with pipes in the project's folder, stopped when the block ends."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        **options,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def url_of(process: asyncio.subprocess.Process) -> str:
    """Return the URL that a server prints once it accepts connections.

    Raises:
        RuntimeError: the process ended first.
    """
    assert process.stdout is not None
    found = None
    async with asyncio.timeout(PATIENCE_S):
        while found is None and (line := await process.stdout.readline()):
            found = _URL.search(line)
    if found is None:
        raise RuntimeError("the server did not start")
    return found[0].decode()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process so far, without that of its children.

    Raises:
        Skipped: this system has no such clock for other processes.
    """
    if not sys.platform.startswith("linux"):
        raise Skipped("the CPU time of another process is read from a Linux clock")
    # `clock_getcpuclockid`, which Python does not offer: nanoseconds, where /proc counts in
    # hundredths of a second.
    return time.clock_gettime((~pid << 3) | 2)


def resident_kib(pid: int) -> float:
    """Return the resident memory of a process in KiB.

    Raises:
        Skipped: this system does not tell.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        raise Skipped("resident memory is read from /proc") from None
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1])
    raise Skipped("resident memory is read from /proc")
