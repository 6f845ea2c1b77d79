"""`tollgate serve` as a process of its own, which a test may kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import websockets
from websockets.typing import Subprotocol

from tests.support.service import Chat
from tests.support.source import ROOT

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "TOLLGATE_PORT": "0",
    "TOLLGATE_OPEN_HOUSE": "true",
}


@dataclass(slots=True)
class Server:
    """A service that runs elsewhere."""

    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        """SIGKILL, and nothing of it is left."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def get(self, path: str) -> Any:
        """The JSON of a path below `/api/v1`."""
        async with httpx2.AsyncClient(base_url=f"{self.url}/api/v1") as client:
            answer = await client.get(path)
            answer.raise_for_status()
            return answer.json()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Chat]:
        """A greeted client."""
        url = self.url.replace("http", "ws", 1) + "/api/v1/ws"
        async with websockets.connect(url, subprotocols=[Subprotocol("tollgate.v1")]) as socket:
            chat = Chat(socket)
            await chat.send({"type": "hello", "id": "hello"})
            await chat.until("ack")
            yield chat


@asynccontextmanager
async def server(folder: Path, environment: dict[str, str] | None = None) -> AsyncIterator[Server]:
    """`tollgate serve` as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "app.cli", "serve", "--data-dir", str(folder / "data")),
        cwd=folder,
        env=ENVIRONMENT | (environment or {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            while b"url" not in (line := await process.stdout.readline()):
                assert line, (await process.communicate())[1].decode()
        yield Server(process, line.split()[1].decode())
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def new_session(running: Server) -> str:
    """The id of a session that was just begun."""
    async with httpx2.AsyncClient(base_url=f"{running.url}/api/v1") as client:
        session_id: str = (await client.post("/sessions", json={})).json()["id"]
        return session_id
