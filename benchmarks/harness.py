"""Measurement of a subject against its floor: interleaved, in one run, with medians.

CPU time is the reliable figure: on a shared machine wall time varies by a factor of two, CPU time
by a tenth. Subject and floor alternate (A B A B …), so that disturbances affect both.
"""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import uvloop

from app.api.server import calm_collector

T = TypeVar("T")
Figures = Mapping[str, float]
Measure = Callable[[], Awaitable[Figures]]
TURN_S = 120
NO_BUDGETS: Mapping[str, float] = {}


class Skipped(Exception):
    """This machine lacks a requirement of the benchmark; the message names it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Extent of the measurement.

    Attributes:
        rounds: alternations of subject and floor.
        share: of the full number of operations per turn.
    """

    rounds: int
    share: float

    def count(self, full: int, *, least: int = 2) -> int:
        """Return `full` operations, scaled."""
        return max(least, round(full * self.share))


FULL = Scale(5, 1.0)
QUICK = Scale(3, 0.1)
SMOKE = Scale(1, 0.004)


@dataclass(frozen=True, slots=True)
class Result:
    """One comparison; `subject` and `floor` are medians in `unit`.

    `spread` is the distance between the smallest and the largest ratio of a round, in shares of
    the median ratio; None without rounds.
    """

    name: str
    subject: float
    floor: float
    unit: str
    runs: int
    spread: float | None = None

    @property
    def ratio(self) -> float | None:
        """Return the cost of the subject in floors; None if the floor was too small to measure."""
        return self.subject / self.floor if self.floor > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the line for `--json`. Both figures are in `unit`, regardless of their key."""
        return {
            "name": self.name,
            "subject_us": round(self.subject, 3),
            "floor_us": round(self.floor, 3),
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "unit": self.unit,
            "runs": self.runs,
            "spread": None if self.spread is None else round(self.spread, 3),
        }


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Measurement with one result per name.

    Attributes:
        about: the subject and its floor.
        budgets: maximum cost of a result, in its unit, on the reference machine.
    """

    names: tuple[str, ...]
    about: str
    run: Callable[[Scale], list[Result]]
    budgets: Mapping[str, float] = field(default_factory=lambda: NO_BUDGETS)


@dataclass(frozen=True, slots=True)
class Compared:
    """Figures of all rounds."""

    subject: list[Figures]
    floor: list[Figures]

    def result(self, name: str, unit: str, figure: str = "cpu") -> Result:
        """Return the medians of one figure."""
        subject = [turn[figure] for turn in self.subject]
        floor = [turn[figure] for turn in self.floor]
        return Result(
            name,
            statistics.median(subject),
            statistics.median(floor),
            unit,
            len(subject),
            _spread(subject, floor),
        )


def _spread(subject: Sequence[float], floor: Sequence[float]) -> float | None:
    if min(floor) <= 0:
        return None
    ratios = [above / below for above, below in zip(subject, floor, strict=True)]
    return (max(ratios) - min(ratios)) / (statistics.median(ratios) or 1)


async def interleave(rounds: int, subject: Measure, floor: Measure) -> Compared:
    """Warm up both, then alternate.

    A single round only shows that both run, and needs no warm-up.
    """
    if rounds > 1:
        await _turn(subject)
        await _turn(floor)
    compared = Compared([], [])
    for _ in range(rounds):
        compared.subject.append(await _turn(subject))
        compared.floor.append(await _turn(floor))
    return compared


async def _turn(measure: Measure) -> Figures:
    """Measure one turn; a hanging turn ends the benchmark."""
    async with asyncio.timeout(TURN_S):
        return await measure()


class Stopwatch:
    """Time since its creation, of this thread, this process and its ended children."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._thread = time.thread_time()
        self._process = time.process_time()
        self._children = _children_cpu()

    def per(self, count: int) -> dict[str, float]:
        """Return microseconds per operation: `cpu` (with children), `loop` (this thread),
        `wall`.
        """
        process = time.process_time() - self._process
        thread = time.thread_time() - self._thread
        wall = time.perf_counter() - self._wall
        children = _children_cpu() - self._children
        scale = 1e6 / count
        return {"cpu": (process + children) * scale, "loop": thread * scale, "wall": wall * scale}


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def matching(patterns: Sequence[str], known: Iterable[str]) -> set[str]:
    """Return the known names that match any of `patterns`, or all names without patterns.

    Raises:
        LookupError: a pattern matches none; its argument is the pattern.
    """
    names, wanted = set(known), set[str]()
    for pattern in patterns or ("*",):
        found = {name for name in names if fnmatchcase(name, pattern)}
        if not found:
            raise LookupError(pattern)
        wanted |= found
    return wanted


def forget_settings() -> None:
    """Remove settings from the environment, so that defaults are measured."""
    for name in tuple(os.environ):
        if name.startswith(("TOLLGATE_", "ANTHROPIC_")):
            del os.environ[name]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on the service's event loop, with its garbage collector settings."""
    calm_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
