"""`tollgate serve` as a separate process, which a test may kill."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import httpx2
import websockets
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from tests.support import forked
from tests.support.database import new_database
from tests.support.http import HttpClient
from tests.support.service import Chat
from tests.support.source import ROOT

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "TOLLGATE_PORT": "0",
    "TOLLGATE_ALLOW_ANONYMOUS": "true",
    "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
}

# How a client notices that a service was killed, also while it connects.
SERVICE_GONE = (WebSocketException, ConnectionError, httpx2.TransportError)


class Process(Protocol):
    """Operations on a service's process."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def send_signal(self, signal: int) -> None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


class ForkedServer:
    """Service forked from a process that has already loaded it."""

    def __init__(self, process: forked.Forked) -> None:
        self._process = process
        self.pid = process.pid
        self.send_signal = process.send_signal
        self.kill = process.kill

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait)


@dataclass(slots=True)
class Server:
    """Service in another process."""

    process: Process
    url: str

    async def kill(self) -> None:
        """SIGKILL, and wait until all its processes have ended."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def get(self, path: str) -> Any:
        """Return the JSON of a path below `/api/v1`."""
        async with HttpClient(base_url=f"{self.url}/api/v1") as client:
            answer = await client.get(path)
            answer.raise_for_status()
            return answer.json()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Chat]:
        """Connect a greeted client."""
        url = self.url.replace("http", "ws", 1) + "/api/v1/ws"
        async with websockets.connect(url, subprotocols=[Subprotocol("tollgate.v1")]) as socket:
            chat = Chat(socket)
            await chat.send({"type": "hello", "id": "hello"})
            await chat.until("ack")
            yield chat


@asynccontextmanager
async def server(
    folder: Path, environment: dict[str, str] | None = None, *, before: str = ""
) -> AsyncIterator[Server]:
    """Run `tollgate serve` as a separate process, with a migrated database.

    `before` is code that Python runs first, for instance to set limits.
    """
    if not (folder / "data").exists():
        new_database(folder / "data" / "tollgate.db")
    complaints = folder / "stderr.txt"
    with complaints.open("ab") as written:
        process = forked.start(
            ["serve", "--data-dir", str(folder / "data")],
            cwd=folder,
            environment=ENVIRONMENT | (environment or {}),
            before=before,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=written.fileno(),
        )
    running = ForkedServer(process)
    try:
        async with asyncio.timeout(60):
            url = await asyncio.to_thread(_url_in, process.stdout)
        assert url, complaints.read_text(encoding="utf-8", errors="replace")
        yield Server(running, url)
    finally:
        if running.returncode is None:
            process.terminate()
        await asyncio.to_thread(process.communicate)


def _url_in(banner: IO[str]) -> str | None:
    """Return the address in the service's banner; None if it ends without one."""
    return next((line.split()[1] for line in banner if "url" in line), None)


async def new_session(running: Server) -> str:
    """Create a session; return its ID."""
    async with HttpClient(base_url=f"{running.url}/api/v1") as client:
        session_id: str = (await client.post("/sessions", json={})).json()["id"]
        return session_id
