"""Sandbox: confined Python and `bash`, compared with the same programs unconfined."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from app.operations.protocols.code import CodeSpec, Strictness
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.protocols.sandbox import Level
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.policies import WALL_S
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
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

RUNS = 60
_BARE = ("-I", "-S", "-c", "print(1)")
_ISOLATED = ("-I", "-c", "print(1)")
_UNIT = "wall us/run"
Once = Callable[[], Awaitable[None]]


def _levels(scale: Scale) -> list[Result]:
    return [
        run(_compare_code(scale, "strict", warm=True)).result("python_strict", _UNIT, "wall"),
        run(_compare_code(scale, "standard", warm=True)).result("python_standard", _UNIT, "wall"),
        run(_compare_code(scale, "strict", warm=False)).result("python_strict_fork", _UNIT, "wall"),
        run(_compare_code(scale, "standard", warm=False)).result(
            "python_standard_fork", _UNIT, "wall"
        ),
        run(_compare_code(scale, "lenient", warm=False)).result("python_lenient", _UNIT, "wall"),
        run(_compare_isolated(scale)).result("python_isolated", _UNIT, "wall"),
    ]


def _commands(scale: Scale) -> list[Result]:
    return [run(_compare_command(scale)).result("sandbox_bash", _UNIT, "wall")]


async def _compare_code(scale: Scale, level: Strictness, *, warm: bool) -> Compared:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        sandbox = Sandbox(SandboxConfig(temporary=Path(name), warm_workers=1 if warm else 0))
        try:
            await _require(sandbox, level)
            async with SandboxedWorkspace(Path(name), sandbox=sandbox) as workspace:
                once = partial(_run_code, workspace.operations, level)
                ready = sandbox.start if warm else None
                return await _interleaved(scale, once, partial(_run_bare, _BARE), ready)
        finally:
            await sandbox.close()


async def _compare_isolated(scale: Scale) -> Compared:
    return await _interleaved(scale, partial(_run_bare, _ISOLATED), partial(_run_bare, _BARE))


async def _compare_command(scale: Scale) -> Compared:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        sandbox = Sandbox(SandboxConfig(temporary=Path(name), warm_workers=0))
        try:
            await _require(sandbox, "bash")
            async with SandboxedWorkspace(Path(name), sandbox=sandbox) as workspace:
                once = partial(_run_command, workspace.operations)
                return await _interleaved(scale, once, _run_bare_bash)
        finally:
            await sandbox.close()


async def _require(sandbox: Sandbox, level: Level) -> None:
    """Start the sandbox.

    Raises:
        Skipped: this machine does not support `level`.
    """
    found = (await sandbox.start()).levels[level]
    if not found.available:
        raise Skipped(found.sentence)


async def _interleaved(
    scale: Scale, subject: Once, floor: Once, ready: Callable[[], Awaitable[object]] | None = None
) -> Compared:
    """Compare the time of single runs.

    `ready` is awaited before each of the subject's, outside the measured time, because a worker
    normally waits for its code.
    """
    count = scale.count(RUNS)
    return await interleave(
        scale.rounds, partial(_timed, subject, count, ready), partial(_timed, floor, count, None)
    )


async def _timed(once: Once, count: int, ready: Callable[[], Awaitable[object]] | None) -> Figures:
    total = 0.0
    for _ in range(count):
        if ready is not None:
            await ready()
        began = time.perf_counter()
        await once()
        total += time.perf_counter() - began
    return {"wall": total * 1e6 / count}


async def _run_code(operations: Operations, level: Strictness) -> None:
    spec = CodeSpec("print(1)", level, WALL_S[level])
    async with operations.code.open(spec) as running:
        printed = b"".join([chunk.data async for chunk in running.output()])
        ended = await running.wait()
    if (printed, ended.exit.code) != (b"1\n", 0):
        raise RuntimeError(f"{level} printed {printed!r} and ended with {ended}")


async def _run_command(operations: Operations) -> None:
    spec = ProcessSpec(("/bin/bash", "--noprofile", "--norc", "-c", "true"))
    async with operations.processes.open(spec) as process:
        async for _ in process.output():
            pass
        ended = await process.wait()
    if ended.code != 0:
        raise RuntimeError(f"bash ended with {ended}")


async def _run_bare(arguments: tuple[str, ...]) -> None:
    await _communicate(sys.executable, *arguments)


async def _run_bare_bash() -> None:
    await _communicate("/bin/bash", "--noprofile", "--norc", "-c", "true")


async def _communicate(*words: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await process.communicate()


BENCHMARKS = (
    Benchmark(
        (
            *("python_strict", "python_standard", "python_strict_fork", "python_standard_fork"),
            *("python_lenient", "python_isolated"),
        ),
        "print(1) in the sandbox, warm or forked, and `python -I`; floor: `python -I -S -c`",
        _levels,
    ),
    Benchmark(
        ("sandbox_bash",),
        "`bash -c true` in the sandbox; floor: a bare asyncio subprocess",
        _commands,
    ),
)
