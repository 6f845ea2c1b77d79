"""Runs attempts one after another and says, as JSON lines, what each has brought about.

A program of its own, so that it can run as another user, and plays the service: what runs
below it may neither read its environment nor end it.

    python -m tests.escape.driver RUNNER < selection

`RUNNER` is naive, or sandbox, to which -without-namespaces, and -with-network or -with-hosts, may
be added;
the selection is JSON, a list of [level, name of the attempt].
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from app.operations.protocols.sandbox import Level
from tests.escape.attempt import Attempt, Evidence, Limits, Outcome
from tests.escape.attempts.collected import ATTEMPTS, CONTROL
from tests.escape.judges import judged, why_unknown
from tests.escape.naive import NaiveRunner, end_all
from tests.escape.sandboxed import sandboxed
from tests.escape.sightings import Watch, left_after
from tests.escape.source import limits_at
from tests.escape.tree import adopt_orphans
from tests.escape.world import World

# Nothing is known about an attempt that did not begin, or that nobody looked at while it held
# what it got, as happens on a busy machine: it is made again, with more time for both.
_HOLDS_S = (0.5, 1.2, 3.0, 10.0)
_signals: list[int] = []  # what the one who plays the service was sent


class Runner(Protocol):
    """Runs the source of an attempt in a workspace."""

    async def run(
        self, attempt: Attempt, level: Level, world: World, limits: Limits
    ) -> Outcome: ...

    async def rest(self) -> None:
        """Return when nothing goes on that belongs to no run."""


async def judge(
    runner: Runner,
    attempt: Attempt,
    level: Level,
    base: Path,
    usual: Mapping[str, int],
    hold_s: float = _HOLDS_S[0],
) -> tuple[Evidence, dict[str, str]]:
    """One run in a world of its own; what was seen, and every harm it did."""
    limits = limits_at(level, attempt)
    if isinstance(runner, NaiveRunner):
        limits = attempt.limits
    slower = hold_s / _HOLDS_S[0]
    limits = replace(limits, hold_s=hold_s, wall_s=limits.wall_s * slower)
    await runner.rest()
    world = World(base)
    try:
        watch = Watch((world.ws, world.private), world.canaries.listened, world.victim.changes)
        outcome = await runner.run(attempt, level, world, limits)
        if attempt.then is not None:
            first = outcome
            # What goes and what comes for the next run would be counted together.
            await runner.rest()
            after = replace(attempt, source=attempt.then, then=None)
            outcome = await runner.run(after, level, world, limits)
            if not first.begun:
                outcome = replace(outcome, unknown="what was to leave something did not begin")
        if attempt.again:
            await runner.rest()
            await runner.run(CONTROL, level, world, limits)
        sightings = await asyncio.to_thread(watch.stop)
        sightings.signalled = bool(_signals)
        _signals.clear()
        sightings.left = await asyncio.to_thread(left_after, watch.before, world.token)
        evidence = Evidence(world, outcome, sightings, limits, usual)
        return evidence, judged(evidence)
    finally:
        if isinstance(runner, NaiveRunner):
            end_all(watch.before, world.token)
        world.close()


async def _verdicts(
    kind: str, wanted: list[tuple[Level, str]], base: Path
) -> AsyncIterator[dict[str, Any]]:
    by_name = {attempt.name: attempt for attempt in ATTEMPTS}
    async with _runner(kind, base) as runner:
        usual: dict[Level, Counter[str]] = {}
        for level in dict.fromkeys(level for level, _ in wanted):
            usual[level] = Counter()
            for _ in range(2):  # the first one parks what the others use
                verdict, spaces = await _verdict(runner, CONTROL, level, base, {})
                usual[level] |= Counter(spaces)
            verdict["harms"].pop("namespace_made", None)
            yield verdict
        for level, name in wanted:
            yield (await _verdict(runner, by_name[name], level, base, usual[level]))[0]


async def _verdict(
    runner: Runner, attempt: Attempt, level: Level, base: Path, usual: Mapping[str, int]
) -> tuple[dict[str, Any], Mapping[str, int]]:
    """What came of an attempt, and the namespaces it was in; every harm of every try counts."""
    harms: dict[str, str] = {}
    tries = 0
    for hold_s in _HOLDS_S:
        tries += 1
        evidence, found = await judge(runner, attempt, level, base, usual, hold_s)
        harms |= found
        unknown = why_unknown(attempt, evidence)
        if unknown is None:
            break
    outcome = evidence.outcome
    verdict = {
        "level": level,
        "attempt": attempt.name,
        "unknown": unknown,
        "tries": tries,
        "harms": harms,
        "reason": outcome.reason,
        "wall_s": round(outcome.wall_s, 2),
        "stdout": outcome.stdout[-400:].decode(errors="replace"),
        "stderr": outcome.stderr[-600:].decode(errors="replace"),
    }
    return verdict, evidence.sightings.namespaces


@asynccontextmanager
async def _runner(kind: str, base: Path) -> AsyncIterator[Runner]:
    if kind == "naive":
        yield NaiveRunner()
    else:
        async with sandboxed(kind, base / "private") as runner:
            yield runner


async def _main() -> None:
    wanted = json.load(sys.stdin)
    adopt_orphans()
    for number in (signal.SIGUSR2, signal.SIGURG):  # the second one harms nobody who ignores it
        signal.signal(number, lambda number, _: _signals.append(number))
    with tempfile.TemporaryDirectory(prefix="escape-") as folder:
        base = Path(folder)
        async for verdict in _verdicts(sys.argv[1], wanted, base):
            verdict["at"] = time.strftime("%H:%M:%S")
            print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
