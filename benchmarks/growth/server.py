"""`tollgate serve` on a data folder, as its clients see it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.growth.build import Contents
from benchmarks.served import PATIENCE_S, SETTINGS, cpu_seconds, started, url_of
from benchmarks.wire import WireClient

_SETTINGS = SETTINGS | {
    "TOLLGATE_LOG_LEVEL": "error",
    "TOLLGATE_COMMAND_RATE": "1000000",
    "TOLLGATE_COMMAND_BURST": "1000000",
}
_API = "/api/v1"
_ANSWER_S = 10 * PATIENCE_S


class RunningService:
    """Service process with one HTTP connection to it.

    Args:
        pid: process ID.
        contents: contents of its data folder, with the tokens of its users.
    """

    def __init__(self, pid: int, url: str, contents: Contents) -> None:
        self._pid = pid
        self._url = url
        self._contents = contents
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_ANSWER_S)

    def cpu(self) -> float:
        """Return the CPU seconds of the whole process so far."""
        return cpu_seconds(self._pid)

    def request(self, method: str, path: str, body: Any = None, *, as_user: bool = False) -> bytes:
        """Send a request as administrator, or as an ordinary user; return the body of its answer.

        Raises:
            RuntimeError: the answer is an error.
        """
        token = self._contents.user if as_user else self._contents.administrator
        headers = {"authorization": f"Bearer {token}"}
        sent = None
        if body is not None:
            sent = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        self._connection.request(method, _API + path, sent, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {text[:300]!r}")
        return text

    async def socket(self) -> WireClient:
        """Return a WebSocket connection of the administrator, past its greeting."""
        client = await WireClient.connect(self._url, f"{_API}/ws")
        auth = {"token": self._contents.administrator}
        client.send(json.dumps({"type": "hello", "id": "hello", "auth": auth}).encode())
        async with asyncio.timeout(PATIENCE_S):
            await client.until(2)
        return client

    def close(self) -> None:
        self._connection.close()


@asynccontextmanager
async def serve(folder: Path, contents: Contents) -> AsyncIterator[RunningService]:
    """Start the service on a data folder, and wait until it is ready."""
    words = ("-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder))
    environment = os.environ | _SETTINGS
    # Many containers disable bytecode: a start would compile everything again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    options = {"env": environment, "stderr": asyncio.subprocess.DEVNULL}
    async with started(sys.executable, *words, **options) as process:
        service = RunningService(process.pid, await url_of(process), contents)
        try:
            service.request("GET", "/ready")
            yield service
        finally:
            service.close()


@dataclass(slots=True)
class Place:
    """Installation of one size.

    Attributes:
        size: along the measured dimension.
        service: None while it is not running.
        numbers: numbers that no other request has.
    """

    size: int
    folder: Path
    contents: Contents
    service: RunningService | None = None
    numbers: count[int] = field(default_factory=lambda: count(10**9))

    @property
    def running(self) -> RunningService:
        assert self.service is not None
        return self.service
