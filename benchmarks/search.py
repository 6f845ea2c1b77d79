"""`grep` and `find_files` as governed calls, compared with ripgrep on the same tree.

Both tools run in this process, and ripgrep in its own with any number of threads: CPU time is the
total cost, wall time the caller's wait on an idle machine.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bootstrap.container import Runtime
from app.execution.calls import CallRequest
from app.tools.search.toolset import TOOLS
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
from benchmarks.tree import FILES, RARE, make_tree
from scripts.parts import find_program

_RG = ("--no-config", "--no-require-git", "--max-filesize", "2M")
_LINES = ("--line-number", "--no-heading")


@dataclass(frozen=True, slots=True)
class _Case:
    """Call, and ripgrep's words for the same; both count `total` in lines or files."""

    tool: str
    arguments: dict[str, Any]
    words: tuple[str, ...]


async def _compare(case: _Case, scale: Scale) -> Compared:
    program = find_program("rg")
    if program is None:
        raise Skipped("ripgrep (rg) is not installed")
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        root = Path(name)
        await asyncio.to_thread(make_tree, root, scale.count(FILES, least=200))
        async with bench_runtime(TOOLS, root) as runtime:
            totals: list[int] = []

            async def subject() -> Figures:
                figures, total = await _call(runtime, case)
                totals.append(total)
                return figures

            async def floor() -> Figures:
                figures, total = await _rg(program, case, root)
                totals.append(total)
                return figures

            compared = await interleave(scale.rounds, subject, floor)
    if len(set(totals)) != 1:
        raise RuntimeError(f"{case.tool} and rg do not find the same: {sorted(set(totals))}")
    return compared


_numbers = itertools.count(1)


async def _call(runtime: Runtime, case: _Case) -> tuple[Figures, int]:
    calls = context(runtime, project=True)
    watch = Stopwatch()
    request = CallRequest(f"call_{next(_numbers)}", case.tool, case.arguments)
    (outcome,) = await runtime.executor.run([request], calls)
    figures = watch.per(1)
    if outcome.status != "success":
        raise RuntimeError(f"{case.tool} ended as {outcome.status}: {outcome.text}")
    return figures, int(outcome.result.data["total"])


async def _rg(program: Path, case: _Case, root: Path) -> tuple[Figures, int]:
    watch = Stopwatch()
    process = await asyncio.create_subprocess_exec(
        program,
        *_RG,
        *case.words,
        cwd=root,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    return watch.per(1), printed.count(b"\n")


def _benchmark(name: str, about: str, case: _Case) -> Benchmark:
    def measure(scale: Scale) -> list[Result]:
        compared = run(_compare(case, scale))
        return [
            compared.result(name, "CPU us/search"),
            compared.result(f"{name}_wall", "wall us/search", "wall"),
        ]

    return Benchmark((name, f"{name}_wall"), about, measure)


BENCHMARKS = (
    _benchmark(
        "grep_rare",
        "a name in one file of a hundred, its lines; floor: rg -n",
        _Case("grep", {"pattern": RARE, "output_mode": "content"}, (*_LINES, RARE)),
    ),
    _benchmark(
        "grep_common",
        "the files with a word of nearly every file; floor: rg -l",
        _Case("grep", {"pattern": "return"}, ("--files-with-matches", "return")),
    ),
    _benchmark(
        "grep_regex",
        "lines that match a regular expression; floor: rg -n",
        _Case(
            "grep",
            {"pattern": r"Quix\w+_Needle_\d+\(", "output_mode": "content"},
            (*_LINES, r"Quix\w+_Needle_\d+\("),
        ),
    ),
    _benchmark(
        "grep_ignore_case",
        "a rare name whatever its case; floor: rg -n -i",
        _Case(
            "grep",
            {"pattern": RARE.lower(), "output_mode": "content", "case_insensitive": True},
            (*_LINES, "--ignore-case", RARE.lower()),
        ),
    ),
    _benchmark(
        "find_files",
        "the first page of *.py; floor: rg --files -g",
        _Case("find_files", {"pattern": "*.py"}, ("--files", "--glob", "*.py")),
    ),
)
