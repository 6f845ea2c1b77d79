"""Runs attempts one after another and says, as JSON lines, what each has brought about.

A program of its own, so that it can run as another user, and plays the service: what runs
below it may neither read its environment nor end it.

    python -m tests.escape.driver RUNNER < selection

`RUNNER` is naive, or sandbox, to which -without-namespaces and -with-network may be added;
the selection is JSON, a list of [level, name of the attempt].
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from app.operations.protocols.sandbox import Level
from tests.escape.attempt import Attempt, Evidence, Limits, Outcome
from tests.escape.attempts.collected import ATTEMPTS, CONTROL
from tests.escape.judges import judged
from tests.escape.naive import NaiveRunner, end_all
from tests.escape.sandboxed import sandboxed
from tests.escape.sightings import Watch, left_after
from tests.escape.source import BEGUN, limits_at
from tests.escape.tree import adopt_orphans
from tests.escape.world import World

_signals: list[int] = []  # what the one who plays the service was sent


class Runner(Protocol):
    """Runs the source of an attempt in a workspace."""

    async def run(
        self, attempt: Attempt, level: Level, world: World, limits: Limits
    ) -> Outcome: ...


async def judge(
    runner: Runner, attempt: Attempt, level: Level, base: Path, usual: Mapping[str, int]
) -> tuple[Evidence, dict[str, str]]:
    """One run in a world of its own; what was seen, and every harm it did."""
    limits = limits_at(level, attempt)
    if isinstance(runner, NaiveRunner):
        limits = attempt.limits
    world = World(base)
    try:
        watch = Watch((world.ws, world.private), world.canaries.listened, world.victim.changes)
        outcome = await runner.run(attempt, level, world, limits)
        if attempt.again:
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
    async with _runner(kind) as runner:
        usual: dict[Level, Mapping[str, int]] = {}
        for level in dict.fromkeys(level for level, _ in wanted):
            for _ in range(2):  # the first one parks what the others use
                evidence, harms = await judge(runner, CONTROL, level, base, {})
            usual[level] = evidence.sightings.namespaces
            yield _verdict(
                level, CONTROL, evidence, {n: h for n, h in harms.items() if n != "namespace_made"}
            )
        for level, name in wanted:
            evidence, harms = await judge(runner, by_name[name], level, base, usual[level])
            yield _verdict(level, by_name[name], evidence, harms)


def _verdict(
    level: Level, attempt: Attempt, evidence: Evidence, harms: dict[str, str]
) -> dict[str, Any]:
    outcome = evidence.outcome
    return {
        "level": level,
        "attempt": attempt.name,
        "begun": BEGUN.encode() in outcome.stdout or attempt.raw or not attempt.begins,
        "harms": harms,
        "reason": outcome.reason,
        "wall_s": round(outcome.wall_s, 2),
        "stdout": outcome.stdout[-400:].decode(errors="replace"),
        "stderr": outcome.stderr[-600:].decode(errors="replace"),
    }


@asynccontextmanager
async def _runner(kind: str) -> AsyncIterator[Runner]:
    if kind == "naive":
        yield NaiveRunner()
    else:
        async with sandboxed(kind) as runner:
            yield runner


async def _main() -> None:
    wanted = json.load(sys.stdin)
    adopt_orphans()
    signal.signal(signal.SIGUSR2, lambda number, _: _signals.append(number))
    with tempfile.TemporaryDirectory(prefix="escape-") as folder:
        base = Path(folder)
        async for verdict in _verdicts(sys.argv[1], wanted, base):
            verdict["at"] = time.strftime("%H:%M:%S")
            print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
