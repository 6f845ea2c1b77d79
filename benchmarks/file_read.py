"""`read_file` of a large file as a governed call, compared with a plain read."""

from __future__ import annotations

import asyncio
import itertools
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
    Stopwatch,
    interleave,
    run,
)
from benchmarks.runtime import bench_runtime, context

_FILE = "large.txt"
_BYTES = 10_000_000
_LINE = "line {:07} of a file that somebody wants to read, 你好\n"
_FIRST, _COUNT = 90_000, 200

_numbers = itertools.count(1)


def _write(root: Path) -> None:
    text = "".join(_LINE.format(number) for number in range(1, _BYTES // 60))
    (root / _FILE).write_text(text, encoding="utf-8")


async def _call(runtime: Runtime) -> Figures:
    calls = context(runtime, project=True)
    arguments = {"path": _FILE, "start_line": _FIRST, "limit": _COUNT}
    watch = Stopwatch()
    request = CallRequest(f"call_{next(_numbers)}", "read_file", arguments)
    (outcome,) = await runtime.executor.run([request], calls)
    figures = watch.per(1)
    if outcome.result.data["end_line"] != _FIRST + _COUNT - 1:
        raise RuntimeError(f"read_file ended as {outcome.status}: {outcome.text[:200]}")
    return figures


def _plain(root: Path) -> str:
    """Do the minimum of the tool: read, decode, select the lines."""
    lines = (root / _FILE).read_bytes().decode().split("\n")
    return "\n".join(lines[_FIRST - 1 : _FIRST - 1 + _COUNT])


async def _compare(scale: Scale) -> Compared:
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        root = Path(name)
        await asyncio.to_thread(_write, root)
        async with bench_runtime(TOOLS, root) as runtime:

            async def subject() -> Figures:
                return await _call(runtime)

            async def floor() -> Figures:
                watch = Stopwatch()
                await asyncio.to_thread(_plain, root)
                return watch.per(1)

            return await interleave(scale.rounds, subject, floor)


def _measure(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    return [
        compared.result("read_10_mb", "CPU us/read"),
        compared.result("read_10_mb_wall", "wall us/read", "wall"),
    ]


BENCHMARKS = (
    Benchmark(
        ("read_10_mb", "read_10_mb_wall"),
        "200 lines from the middle of a file of 10 MB; floor: read, decode, split",
        _measure,
    ),
)
