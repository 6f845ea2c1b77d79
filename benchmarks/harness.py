"""Measuring a subject against its floor: interleaved, in one run, medians.

CPU time is the figure to trust: on a shared machine wall time moves by a factor of two
while CPU time moves by a tenth. Subject and floor take turns (A B A B …), so that
whatever disturbs the machine disturbs both.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvloop

from app.api.server import calm_collector

T = TypeVar("T")
Figures = Mapping[str, float]
Measure = Callable[[], Awaitable[Figures]]
TURN_S = 120
NO_BUDGETS: Mapping[str, float] = {}


class Skipped(Exception):
    """This machine lacks what the benchmark compares with; the message says what."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure.

    Attributes:
        rounds: turns of subject and floor.
        share: of the full number of operations per turn.
    """

    rounds: int
    share: float

    def count(self, full: int, *, least: int = 2) -> int:
        """`full` operations, scaled."""
        return max(least, round(full * self.share))


FULL = Scale(5, 1.0)
QUICK = Scale(3, 0.1)
SMOKE = Scale(1, 0.004)


@dataclass(frozen=True, slots=True)
class Result:
    """One comparison; `subject` and `floor` are medians in `unit`."""

    name: str
    subject: float
    floor: float
    unit: str
    runs: int

    @property
    def ratio(self) -> float | None:
        """How many floors the subject costs; None when the floor was too small to see."""
        return self.subject / self.floor if self.floor > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """The line that `--json` prints. Both figures are in `unit`, whatever their key says."""
        return {
            "name": self.name,
            "subject_us": round(self.subject, 3),
            "floor_us": round(self.floor, 3),
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "unit": self.unit,
            "runs": self.runs,
        }


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A measurement that gives one result per name.

    Attributes:
        about: the subject, and the floor it is compared with.
        budgets: most that a result may cost, in its unit, on the machine of the design.
    """

    names: tuple[str, ...]
    about: str
    run: Callable[[Scale], list[Result]]
    budgets: Mapping[str, float] = field(default_factory=lambda: NO_BUDGETS)


@dataclass(frozen=True, slots=True)
class Compared:
    """The figures of all turns."""

    subject: list[Figures]
    floor: list[Figures]

    def result(self, name: str, unit: str, figure: str = "cpu") -> Result:
        """The medians of one figure."""
        return Result(
            name,
            statistics.median(turn[figure] for turn in self.subject),
            statistics.median(turn[figure] for turn in self.floor),
            unit,
            len(self.subject),
        )


async def interleave(rounds: int, subject: Measure, floor: Measure) -> Compared:
    """Warm both up with a turn that does not count, then take turns.

    A single round only shows that both run: its figures need no warm-up.
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
    """A turn that hangs ends the benchmark."""
    async with asyncio.timeout(TURN_S):
        return await measure()


class Stopwatch:
    """Time since it was made, of this thread, this process and its ended children."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._thread = time.thread_time()
        self._process = time.process_time()
        self._children = _children_cpu()

    def per(self, count: int) -> dict[str, float]:
        """Microseconds per operation: `cpu` (children included), `loop` (this thread), `wall`."""
        process = time.process_time() - self._process
        thread = time.thread_time() - self._thread
        wall = time.perf_counter() - self._wall
        children = _children_cpu() - self._children
        scale = 1e6 / count
        return {"cpu": (process + children) * scale, "loop": thread * scale, "wall": wall * scale}


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on the event loop, and with the collector settings, that the service uses."""
    calm_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
