"""Servers on this machine that stand for hosts of the Internet, and what programs reach of them."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from app.core.host_rules import HostRules
from app.operations.egress.refusal import ConnectionRefused, Destination
from app.operations.protocols.processes import (
    ExitReason,
    NetworkConnection,
    ProcessLimits,
    ProcessSpec,
)
from app.operations.protocols.sandbox import SandboxStatus
from app.operations.sandbox.config import Network, SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Hosts:
    """`HostDestinations` that leads hosts to servers of the test."""

    def __init__(self) -> None:
        self.asked: list[Destination] = []
        self.places: dict[Destination, Destination] = {}

    async def of(self, host: str, port: int) -> Sequence[Destination]:
        self.asked.append((host, port))
        if (host, port) not in self.places:
            raise ConnectionRefused("unreachable", f"{host} has no address")
        return [self.places[host, port]]

    @asynccontextmanager
    async def serving(
        self, host: str, port: int, serve: Serve, *, tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[None]:
        """Serve a host; at the end, wait until nobody is served any more."""
        async with local_server(serve, tls=tls) as own:
            self.places[host, port] = ("127.0.0.1", own)
            yield


@asynccontextmanager
async def local_server(serve: Serve, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve on a free port of this machine's loopback; wait for everybody at the end."""
    serving: set[asyncio.Task[None]] = set()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        task.add_done_callback(serving.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*serving)


async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every HTTP request with its first line and its `Host`."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        first, *fields = head.decode().split("\r\n")
        host = next(field for field in fields if field.lower().startswith("host:"))
        body = f"{first} | {host}\n"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()
        if "connection: close" in head.decode().lower():
            return


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send everything back."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


class Programs:
    """Runs programs of one workspace."""

    def __init__(self, sandbox: Sandbox, folder: Path, hosts: Sequence[str]) -> None:
        network = Network(hosts=HostRules.of(hosts))
        self.workspace = SandboxedWorkspace(folder, sandbox=sandbox, network=network)
        self._egress = sandbox.egress
        self._sandbox = sandbox

    @asynccontextmanager
    async def beside(self, folder: Path, *hosts: str) -> AsyncIterator[Programs]:
        """Run programs of another workspace in the same sandbox."""
        other = Programs(self._sandbox, folder, hosts)
        async with other.workspace:
            yield other

    @asynccontextmanager
    async def going_on(self, code: str) -> AsyncIterator[None]:
        """Have Python code run meanwhile, from when it has written something."""
        spec = ProcessSpec(argv=("python3", "-c", code), limits=ProcessLimits(wall_s=300))
        async with self.workspace.operations.processes.open(spec) as process:
            async for _ in process.output():
                break
            yield

    async def run(
        self, *argv: str, env: Mapping[str, str] = MappingProxyType({}), wall_s: float = 60
    ) -> Ran:
        """Run a program to its end."""
        spec = ProcessSpec(argv=argv, env=env, limits=ProcessLimits(wall_s=wall_s))
        said = b""
        async with self.workspace.operations.processes.open(spec) as process:
            async for chunk in process.output():
                said += chunk.data
            ended = await process.wait()
        text = said.decode("utf-8", "replace")
        return Ran(ended.code, text, ended.connections, ended.reason)

    async def kill_proxy(self) -> None:
        """End the proxy process without a warning; return once that is noticed."""
        assert self._egress.pid is not None
        os.kill(self._egress.pid, signal.SIGKILL)
        while self._egress.pid is not None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)

    def proxy_peak_bytes(self) -> int:
        """Return the most memory that the proxy process has used."""
        status = Path(f"/proc/{self._egress.pid}/status").read_text()
        (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) << 10

    async def python(self, code: str) -> Ran:
        """Run Python code as a program."""
        return await self.run("python3", "-c", code)


class Ran:
    """What a program did, and what ended it."""

    def __init__(
        self, code: int, said: str, made: tuple[NetworkConnection, ...], reason: ExitReason
    ) -> None:
        self.code = code
        self.said = said
        self.made = made
        self.reason = reason

    def verdicts(self) -> list[tuple[str, int, str]]:
        """Return host, port and verdict or code of each connection, in order."""
        return [(one.host, one.port, one.code or one.verdict) for one in self.made]


@asynccontextmanager
async def programs(
    folder: Path,
    places: Hosts,
    *hosts: str,
    readable: tuple[str, ...] = (),
    status: SandboxStatus | None = None,
) -> AsyncIterator[Programs]:
    """Run programs that may reach `hosts`, and read further folders."""
    config = SandboxConfig(warm_workers=0, readable=readable)
    async with Sandbox(config, status=status, destinations=places) as sandbox:
        running = Programs(sandbox, folder, hosts)
        async with running.workspace:
            yield running
