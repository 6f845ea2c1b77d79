"""`python -m tests.crash --points 30`: kill a service at random moments of a run.

With `--delegated`, at random moments of two sub-agents' work in the background; with `--awaited`,
while their agent waits for them.
Prints a line for each point and what was wrong; exits with 1 when anything was.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.crash.delegated import DelegatedTrial
from tests.crash.trial import Trial, run_trial

Kind = Callable[[], Trial]


async def _tried(kind: Kind, *kills: int) -> Trial:
    with TemporaryDirectory() as folder:
        return await run_trial(Path(folder), *kills, kind=kind)


async def _try_all(kind: Kind, points: int, seed: int) -> int:
    whole = await _tried(kind)
    print(f"an unbroken run has {whole.moments} moments; wrong: {whole.wrong() or 'nothing'}")
    random = Random(seed)
    moments = sorted(random.sample(range(1, whole.moments), min(points, whole.moments - 1)))
    failed = len(whole.wrong())
    resumed = interrupted = effects = 0
    for number, moment in enumerate(moments):
        # Every third successor dies as well.
        kills = (moment, random.randint(1, whole.moments // 2))[: 1 + (number % 3 == 0)]
        trial = await _tried(kind, *kills)
        wrong = trial.wrong()
        failed += bool(wrong)
        resumed += trial.was_resumed
        interrupted += trial.interrupted
        effects += trial.marks.total()
        status = ", ".join(run["status"] for run in trial.runs) or "not begun"
        how = "went on" if trial.was_resumed else "was over, or had not begun"
        print(
            f"{kills}: {status}; {how}; {trial.interrupted} interrupted; {wrong or 'right'}",
            flush=True,
        )
    print(
        f"{len(moments)} points (seed {seed}): {failed} wrong, {resumed} runs went on, "
        f"{interrupted} calls interrupted, {effects} side effects"
    )
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a service at random moments of a run.")
    parser.add_argument("--points", type=int, default=30, help="how many moments")
    parser.add_argument("--seed", type=int, default=7, help="which moments")
    parser.add_argument("--delegated", action="store_true", help="sub-agents' work")
    parser.add_argument("--awaited", action="store_true", help="sub-agents that are waited for")
    chosen = parser.parse_args()
    kind: Kind = DelegatedTrial if chosen.delegated else Trial
    if chosen.awaited:
        kind = partial(DelegatedTrial, background=False)
    return asyncio.run(_try_all(kind, chosen.points, chosen.seed))


if __name__ == "__main__":
    sys.exit(main())
