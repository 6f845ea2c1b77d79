"""Start of `bash`: the governed tool, compared with a bare subprocess."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from app.bootstrap.container import Runtime
from app.execution.calls import CallRequest
from app.tools.shell.toolset import TOOLS
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Stopwatch,
    interleave,
    run,
)
from benchmarks.runtime import bench_runtime, context, must_succeed

STARTS = 60


async def _compare(scale: Scale) -> Compared:
    count = scale.count(STARTS)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        root = Path(name)
        async with bench_runtime(TOOLS, root) as runtime:

            async def subject() -> Figures:
                return await _governed(runtime, count)

            async def floor() -> Figures:
                return await _bare(root, count)

            return await interleave(scale.rounds, subject, floor)


async def _governed(runtime: Runtime, count: int) -> Figures:
    calls = context(runtime, project=True)
    watch = Stopwatch()
    for number in range(count):
        # A comment makes each call unique, because repeated calls are stopped.
        command = {"command": f"true # {number}"}
        await must_succeed(runtime, [CallRequest(f"call_{number}", "bash", command)], calls)
    return watch.per(count)


async def _bare(root: Path, count: int) -> Figures:
    watch = Stopwatch()
    for number in range(count):
        process = await asyncio.create_subprocess_exec(
            "/bin/bash",
            "--noprofile",
            "--norc",
            "-c",
            f"true # {number}",
            cwd=root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await process.communicate()
    return watch.per(count)


def _start(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    return [
        compared.result("bash_start", "wall us/start", "wall"),
        compared.result("bash_start_cpu", "CPU us/start"),
    ]


BENCHMARKS = (
    Benchmark(
        ("bash_start", "bash_start_cpu"),
        "the bash tool running `true`; floor: a bare asyncio subprocess",
        _start,
    ),
)
