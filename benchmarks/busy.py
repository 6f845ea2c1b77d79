"""Response time of a busy service: its health during 200 concurrent commands.

Most commands print and sleep, some time out, some flood. The floor is a bare FastAPI application
queried in the same way at the same time: its slowdown is this machine's scheduling delay.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx2

from benchmarks.harness import Benchmark, Compared, Figures, Result, Scale, percentile, run
from benchmarks.served import PATIENCE_S, SETTINGS, started, url_of

CALLS = 200
_FLOOD_BYTES = 1 << 30
_LATE_S = 2


async def _compare(scale: Scale) -> Compared:
    compared = Compared([], [])
    for _ in range(scale.rounds):
        subject, floor = await _round(scale.count(CALLS))
        compared.subject.append(_figures(subject))
        compared.floor.append(_figures(floor))
    return compared


async def _round(calls: int) -> list[list[float]]:
    """Return the seconds of each answer, of the service and of the bare one."""
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        words = ("-m", "app.cli", "serve", "--port", "0", "--data-dir", folder)
        async with _server(words) as url, _server(("-m", "benchmarks.bare")) as bare:
            polled = [f"{url}/api/v1/health", f"{bare}/api/v1/ready"]
            polling = (sys.executable, "-m", "benchmarks.poll", *polled)
            async with started(*polling, limit=1 << 24) as poller:
                assert poller.stdout is not None
                assert poller.stdin is not None
                async with asyncio.timeout(PATIENCE_S):
                    await poller.stdout.readline()
                await _load(url, calls)
                poller.stdin.close()
                async with asyncio.timeout(PATIENCE_S):
                    answers: list[list[float]] = json.loads(await poller.stdout.readline())
                return answers


@asynccontextmanager
async def _server(words: Sequence[str]) -> AsyncIterator[str]:
    """Start a server and yield its URL, without its log on the screen."""
    options = {"env": os.environ | SETTINGS, "stderr": asyncio.subprocess.DEVNULL}
    async with started(sys.executable, *words, **options) as process:
        yield await url_of(process)


async def _load(url: str, calls: int) -> None:
    """Make all calls concurrently, each in a separate session, and wait for their ends."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(
        base_url=f"{url}/api/v1", timeout=10 * PATIENCE_S, limits=limits
    ) as client:

        async def call(number: int, session_id: str) -> None:
            body = {"arguments": _command(number), "session_id": session_id}
            answer = await client.post("/tools/bash/call", json=body)
            answer.raise_for_status()

        sessions = []
        for _ in range(calls):
            answer = await client.post("/sessions", json={})
            sessions.append(answer.raise_for_status().json()["id"])
        await asyncio.gather(*(call(number, name) for number, name in enumerate(sessions)))


def _command(number: int) -> dict[str, str | int]:
    if number % 20 == 19:
        return {"command": f"head -c {_FLOOD_BYTES} /dev/zero"}
    if number % 10 == 4:
        return {"command": f"sleep {60 + number}", "timeout": _LATE_S}
    return {"command": f"echo {number}; sleep 0.2"}


def _figures(took: list[float]) -> Figures:
    micros = [1e6 * seconds for seconds in took]
    return {
        "median": percentile(micros, 0.5),
        "p95": percentile(micros, 0.95),
        "worst": max(micros),
    }


def _busy(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    return [
        compared.result(f"server_busy_{figure}", "wall us/answer", figure)
        for figure in ("median", "p95", "worst")
    ]


BENCHMARKS = (
    Benchmark(
        ("server_busy_median", "server_busy_p95", "server_busy_worst"),
        "health of `tollgate serve` while 200 `bash` calls run; floor: bare FastAPI beside it",
        _busy,
        {"server_busy_worst": 100_000},
    ),
)
