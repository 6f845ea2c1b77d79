"""`patch` of 1,000 hunks as a governed call, compared with the program `patch`."""

from __future__ import annotations

import asyncio
import difflib
import itertools
import shutil
import tempfile
from pathlib import Path

from app.bootstrap.container import Runtime
from app.execution.calls import CallRequest
from app.tools.files.toolset import TOOLS
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Skipped,
    Stopwatch,
    interleave,
    run,
)
from benchmarks.runtime import bench_runtime, context

HUNKS = 1000
_FILE = "many.txt"
_LINES_APART = 10

_numbers = itertools.count(1)


def _texts(hunks: int) -> tuple[str, str]:
    """Return a text, and the same with one line in ten changed."""
    lines = [f"line {number} of a file\n" for number in range(hunks * _LINES_APART)]
    changed = [
        line if number % _LINES_APART else f"changed {line}" for number, line in enumerate(lines)
    ]
    return "".join(lines), "".join(changed)


def _diff(old: str, new: str) -> str:
    before, after = (text.splitlines(keepends=True) for text in (old, new))
    return "".join(difflib.unified_diff(before, after, f"a/{_FILE}", f"b/{_FILE}"))


async def _call(runtime: Runtime, diff: str, hunks: int) -> Figures:
    # A separate session: one that had patched the file would refuse the restored one.
    calls = context(runtime, project=True)
    watch = Stopwatch()
    request = CallRequest(f"call_{next(_numbers)}", "patch", {"patch": diff})
    (outcome,) = await runtime.executor.run([request], calls)
    figures = watch.per(1)
    if not outcome.success or len(outcome.result.data["files"][0]["hunks"]) != hunks:
        raise RuntimeError(f"patch ended as {outcome.status}: {outcome.text[:200]}")
    return figures


async def _program(program: str, root: Path, diff: str) -> Figures:
    watch = Stopwatch()
    process = await asyncio.create_subprocess_exec(
        *(program, "--quiet", "--strip=1", f"--directory={root}"),
        stdin=asyncio.subprocess.PIPE,
    )
    await process.communicate(diff.encode())
    figures = watch.per(1)
    if process.returncode != 0:
        raise RuntimeError(f"{program} ended with {process.returncode}")
    return figures


async def _compare(scale: Scale) -> Compared:
    program = shutil.which("patch")
    if program is None:
        raise Skipped("the program patch is not installed")
    hunks = scale.count(HUNKS, least=10)
    old, new = _texts(hunks)
    diff = _diff(old, new)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        root = Path(name)
        file = root / _FILE
        async with bench_runtime(TOOLS, root) as runtime:

            async def subject() -> Figures:
                file.write_text(old, encoding="utf-8")
                return await _call(runtime, diff, hunks)

            async def floor() -> Figures:
                file.write_text(old, encoding="utf-8")
                return await _program(program, root, diff)

            compared = await interleave(scale.rounds, subject, floor)
        if file.read_text(encoding="utf-8") != new:
            raise RuntimeError("the patched file is not what it should be")
    return compared


def _measure(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    return [compared.result("patch_1000_hunks_wall", "wall us/patch", "wall")]


BENCHMARKS = (
    Benchmark(
        ("patch_1000_hunks_wall",),
        "a diff of 1,000 hunks on a file of 10,000 lines; floor: the program patch",
        _measure,
    ),
)
