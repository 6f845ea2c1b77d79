"""Measurement of lines: installations of all sizes run concurrently and take turns."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.governance.agents import AgentProfile
from app.policy.rules.compile import read_definition
from benchmarks.growth.build import ADMINISTRATOR, add_plugin, opened
from benchmarks.growth.folders import DataFolders, say
from benchmarks.growth.line import Dimension, Growth, Line, Sample
from benchmarks.growth.lines import agent, rule
from benchmarks.growth.server import Place, RunningService, serve
from benchmarks.growth.tools import numbered_plugin

SAMPLE_S = 0.5
"""A sample has as many requests as fit into this time, up to the line's maximum."""

Sizes = Mapping[Dimension, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class LineGrowth:
    """Costs of one line at all sizes.

    Attributes:
        samples: samples of each size, in the order of the sizes.
    """

    line: Line
    sizes: tuple[int, ...]
    samples: tuple[tuple[Sample, ...], ...]

    @property
    def cpu_ms(self) -> list[float]:
        """Median CPU milliseconds of the service per request, by size."""
        return [statistics.median(taken) for taken in self.rounds_ms]

    @property
    def rounds_ms(self) -> list[list[float]]:
        """CPU milliseconds per request of each sample, by size."""
        return [[sample.cpu_s * 1e3 for sample in taken] for taken in self.samples]

    @property
    def p50_ms(self) -> list[float]:
        """Median milliseconds until the answer, by size."""
        return [
            statistics.median(wall * 1e3 for sample in taken for wall in sample.walls_s)
            for taken in self.samples
        ]

    @property
    def ratio(self) -> float:
        """Cost at the largest size in costs at the smallest size that counts."""
        return self.cpu_ms[-1] / self.cpu_ms[-len(self._counted)]

    @property
    def allowed(self) -> float:
        return self.line.allowed(self._counted)

    @property
    def is_ok(self) -> bool:
        return self.ratio <= self.allowed

    @property
    def _counted(self) -> tuple[int, ...]:
        partial = self.line.fills or self.line.expects is Growth.LINEAR
        return tuple(size for size in self.sizes if size or not partial)


async def measure(
    lines: Iterable[Line], sizes: Sizes, folders: DataFolders, work: Path, *, rounds: int
) -> AsyncIterator[LineGrowth]:
    """Yield the growth of each line.

    Args:
        work: folder for the copies that are measured.
        rounds: number of samples per line and size.
    """
    chosen = list(lines)
    for dimension in Dimension:
        along = [line for line in chosen if line.along is dimension]
        if not along:
            continue
        say(f"measuring by {dimension}: {', '.join(f'{size:,}' for size in sizes[dimension])}")
        copies = work / dimension
        places = await _places(dimension, sizes, folders, copies)
        for one in await _grown(along, places, rounds=rounds):
            yield one
        shutil.rmtree(copies)


async def _grown(
    lines: Sequence[Line], places: Sequence[Place], *, rounds: int
) -> list[LineGrowth]:
    """Measure lines at all places, in the order of the lines."""
    found: dict[str, LineGrowth] = {}
    for is_running in (False, True):
        group = [line for line in lines if line.is_running is is_running]
        if not group:
            continue
        async with _started(places if is_running else []):
            for line in group:
                found[line.name] = await growth_of(line, places, rounds=rounds)
    return [found[line.name] for line in lines]


async def growth_of(line: Line, places: Sequence[Place], *, rounds: int) -> LineGrowth:
    """Measure one line at all places in turns."""
    say(f"  {line.name}")
    shared = [await line.prepare(place) for place in places]
    counts = [await _warm(line, *pair) for pair in zip(places, shared, strict=True)]
    samples: list[list[Sample]] = [[] for _ in places]
    for _ in range(rounds):
        for taken, place, common, count in zip(samples, places, shared, counts, strict=True):
            taken.append(await line.sample(place, common, count))
    for common in shared:
        await line.finish(common)
    sizes = tuple(place.size for place in places)
    return LineGrowth(line, sizes, tuple(tuple(taken) for taken in samples))


async def _warm(line: Line, place: Place, shared: Any) -> int:
    """Fill caches; return the number of requests of a sample."""
    await line.sample(place, shared, 1)
    if line.most == 1:
        return 1
    wall = (await line.sample(place, shared, 1)).walls_s[0]
    return max(1, min(line.most, int(SAMPLE_S / wall)))


@asynccontextmanager
async def _started(places: Sequence[Place]) -> AsyncIterator[None]:
    """Run one service per folder until the block ends."""
    services: dict[Path, RunningService] = {}
    async with AsyncExitStack() as stack:
        for place in places:
            if place.folder not in services:
                serving = serve(place.folder, place.contents)
                services[place.folder] = await stack.enter_async_context(serving)
            place.service = services[place.folder]
        try:
            yield
        finally:
            for place in places:
                place.service = None


async def _places(
    dimension: Dimension, sizes: Sizes, folders: DataFolders, work: Path
) -> list[Place]:
    """Return copies of folders that differ in the dimension alone."""
    smallest = sizes[Dimension.SESSIONS][0]
    places: list[Place] = []
    for size in sizes[dimension]:
        sessions = size if dimension is Dimension.SESSIONS else smallest
        contents = await folders.contents(sessions)
        if dimension is Dimension.EVENTS and places:
            # The sessions of all lengths are in one folder.
            places.append(Place(size, places[0].folder, contents))
            continue
        folder = await folders.copy(sessions, work)
        await _extend(folder, dimension, size)
        places.append(Place(size, folder, contents))
    return places


async def _extend(folder: Path, dimension: Dimension, size: int) -> None:
    """Add `size` items of a dimension to a copied folder."""
    if dimension is Dimension.TOOLS:
        add_plugin(folder, "numbered", numbered_plugin(size))
    if dimension not in (Dimension.RULES, Dimension.AGENTS) or not size:
        return
    async with opened(folder) as service:
        runtime = service.runtime
        for number in range(size):
            if dimension is Dimension.RULES:
                body = read_definition(rule(number)).to_json()
                await runtime.rules.create(body, actor=ADMINISTRATOR)
            else:
                profile = AgentProfile.model_validate(agent(number))
                await runtime.agents.create(profile, actor=ADMINISTRATOR)
