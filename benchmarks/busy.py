"""Response time of a busy service: its health during 200 concurrent commands, or runs of agents.

Most commands print and sleep, some time out, some flood. Runs ask a scripted model through the
provider's SDK and call `add`. The floor of the health is a bare FastAPI application queried in the
same way at the same time: its slowdown is this machine's scheduling delay. The floor of the turns
per second is the SDK alone, which sends the same requests, already encoded.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx2

from app.execution.projects import DEFAULT_PROJECT
from benchmarks.growth.build import add_plugin
from benchmarks.harness import Benchmark, Compared, Figures, Result, Scale, percentile, run
from benchmarks.model import KEY, ScriptedModel, converse, scripted_model, sdk_alone
from benchmarks.served import PATIENCE_S, SETTINGS, started, url_of

CALLS = RUNS = 200
TURNS = 20
_FLOOD_BYTES = 1 << 30
_LATE_S = 2
_PLUGIN = "from benchmarks.sample_tools import add\n\nTOOLS = (add,)\n"
_HEALTH = ("median", "p95", "worst")

Load = Callable[[str], Awaitable[float]]
"""Puts the service at a URL to work; returns the seconds that it took."""


async def _compare_commands(scale: Scale) -> Compared:
    compared = Compared([], [])
    for _ in range(scale.rounds):
        with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
            load = partial(_call_commands, scale.count(CALLS))
            _, subject, floor = await _polled(load, folder, {})
        compared.subject.append(_figures(subject))
        compared.floor.append(_figures(floor))
    return compared


async def _compare_runs(scale: Scale) -> Compared:
    compared = Compared([], [])
    runs = scale.count(RUNS)
    async with scripted_model(TURNS) as model:
        variables = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": model.url,
            "TOLLGATE_MAX_ITERATIONS": str(TURNS + 1),
        }
        for _ in range(scale.rounds):
            with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
                add_plugin(Path(folder), "add", _PLUGIN)
                load = partial(_run_agents, model, runs)
                seconds, subject, floor = await _polled(load, folder, variables)
            alone = await _converse_alone(model, runs)
            turns = runs * TURNS
            compared.subject.append({**_figures(subject), "rate": turns / seconds})
            compared.floor.append({**_figures(floor), "rate": turns / alone})
    return compared


async def _polled(
    load: Load, folder: str, variables: Mapping[str, str]
) -> tuple[float, list[float], list[float]]:
    """Return the seconds of the load, and of each answer of the service and of the bare one."""
    words = ("-m", "app.cli", "serve", "--port", "0", "--data-dir", folder)
    async with _server(words, variables) as url, _server(("-m", "benchmarks.bare"), {}) as bare:
        polled = [f"{url}/api/v1/health", f"{bare}/api/v1/ready"]
        polling = (sys.executable, "-m", "benchmarks.poll", *polled)
        async with started(*polling, limit=1 << 24) as poller:
            assert poller.stdout is not None
            assert poller.stdin is not None
            async with asyncio.timeout(PATIENCE_S):
                await poller.stdout.readline()
            seconds = await load(url)
            poller.stdin.close()
            async with asyncio.timeout(PATIENCE_S):
                ours, others = json.loads(await poller.stdout.readline())
            return seconds, ours, others


@asynccontextmanager
async def _server(words: Sequence[str], variables: Mapping[str, str]) -> AsyncIterator[str]:
    """Start a server and yield its URL, without its log on the screen."""
    options = {"env": {**os.environ, **SETTINGS, **variables}, "stderr": asyncio.subprocess.DEVNULL}
    async with started(sys.executable, *words, **options) as process:
        yield await url_of(process)


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(
        base_url=f"{url}/api/v1", timeout=10 * PATIENCE_S, limits=limits
    ) as client:
        yield client


async def _sessions(
    client: httpx2.AsyncClient, count: int, project_id: str | None = None
) -> list[str]:
    """Create sessions; return their IDs."""
    sessions = []
    for _ in range(count):
        answer = await client.post("/sessions", json={"project_id": project_id})
        sessions.append(answer.raise_for_status().json()["id"])
    return sessions


async def _call_commands(calls: int, url: str) -> float:
    """Make all calls concurrently, each in a separate session, and wait for their ends."""
    async with _client(url) as client:

        async def call(number: int, session_id: str) -> None:
            body = {"arguments": _command(number), "session_id": session_id}
            answer = await client.post("/tools/bash/call", json=body)
            answer.raise_for_status()

        sessions = await _sessions(client, calls)
        began = time.perf_counter()
        await asyncio.gather(*(call(number, name) for number, name in enumerate(sessions)))
        return time.perf_counter() - began


async def _run_agents(model: ScriptedModel, runs: int, url: str) -> float:
    """Start all runs concurrently, each in a separate session, and wait for their last answers."""
    async with _client(url) as client:

        async def start(session_id: str) -> None:
            answer = await client.post(f"/sessions/{session_id}/messages", json={"content": "go"})
            answer.raise_for_status()

        await asyncio.gather(*map(start, await _sessions(client, runs, DEFAULT_PROJECT)))
        return await model.ended(runs)


async def _converse_alone(model: ScriptedModel, runs: int) -> float:
    """Have as many conversations at once without the service."""
    bodies = await model.bodies()
    async with sdk_alone(model) as client:
        await asyncio.gather(*(converse(client, bodies) for _ in range(runs)))
    return await model.ended(runs)


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


def _commands(scale: Scale) -> list[Result]:
    compared = run(_compare_commands(scale))
    return [
        compared.result(f"server_busy_{figure}", "wall us/answer", figure) for figure in _HEALTH
    ]


def _runs(scale: Scale) -> list[Result]:
    compared = run(_compare_runs(scale))
    return [
        compared.result("server_runs_rate", "turns/s", "rate"),
        *(compared.result(f"server_runs_{name}", "wall us/answer", name) for name in _HEALTH),
    ]


BENCHMARKS = (
    Benchmark(
        tuple(f"server_busy_{figure}" for figure in _HEALTH),
        "health of `tollgate serve` while 200 `bash` calls run; floor: bare FastAPI beside it",
        _commands,
        {"server_busy_worst": 100_000},
    ),
    Benchmark(
        ("server_runs_rate", *(f"server_runs_{figure}" for figure in _HEALTH)),
        f"200 runs of {TURNS} turns at once in `tollgate serve`: turns per second (floor: the"
        " anthropic SDK alone), and its health meanwhile (floor: bare FastAPI beside it)",
        _runs,
        {"server_runs_worst": 100_000},
    ),
)
