"""Start of a sub-agent's process, from the request until it asks for the model.

`warm` finds a waiting worker of its workspace; `cold` finds none. The floor is an unconfined
interpreter without imports.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from app.agents.delegation.frames import AskModel, Begin
from app.agents.delegation.ports import WorkerScope
from app.config.sections import SubAgentSettings
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.workers.pool import WorkerPool
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Skipped,
    interleave,
    run,
)

RUNS = 20
_UNIT = "wall us/start"
_FLOOR = ("-I", "-c", "print(1)")


def _starts(scale: Scale) -> list[Result]:
    return [
        run(_compare(scale, warm=0)).result("subagent_start_cold", _UNIT, "wall"),
        run(_compare(scale, warm=1)).result("subagent_start_warm", _UNIT, "wall"),
    ]


async def _compare(scale: Scale, *, warm: int) -> Compared:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        place = WorkerScope(tempfile.mkdtemp(dir=name))
        config = SandboxConfig(temporary=Path(name, "private"), warm_workers=0)
        async with (
            Sandbox(config) as sandbox,
            WorkerPool(sandbox, SubAgentSettings(warm=warm)) as pool,
        ):
            level = (await sandbox.start()).levels["bash"]
            if not level.available or level.asks:
                raise Skipped(level.sentence)
            if warm:
                await _start(pool, place)  # so that one is ready for the next
            count = scale.count(RUNS)
            return await interleave(
                scale.rounds, partial(_subject, pool, place, count), partial(_floor, count)
            )


async def _subject(pool: WorkerPool, place: WorkerScope, count: int) -> Figures:
    total = 0.0
    for _ in range(count):
        await pool.settled()
        total += await _start(pool, place)
    return {"wall": total * 1e6 / count}


async def _start(pool: WorkerPool, place: WorkerScope) -> float:
    """Return the seconds until a worker has started; its end is not measured."""
    began = time.perf_counter()
    async with pool.take(place) as worker:
        await worker.send(Begin(task_id="task", max_rounds=1, root=place.root))
        first = await anext(worker.frames())
        seconds = time.perf_counter() - began
    if first != AskModel(round=1):
        raise RuntimeError(f"a worker began with {first}")
    return seconds


async def _floor(count: int) -> Figures:
    total = 0.0
    for _ in range(count):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, *_FLOOR, stdout=asyncio.subprocess.PIPE
        )
        await process.communicate()
        total += time.perf_counter() - began
    return {"wall": total * 1e6 / count}


BENCHMARKS = (
    Benchmark(
        ("subagent_start_cold", "subagent_start_warm"),
        "a sub-agent's process until its first frame; floor: `python -I -c` unconfined",
        _starts,
        budgets={"subagent_start_cold": 1_000_000, "subagent_start_warm": 50_000},
    ),
)
