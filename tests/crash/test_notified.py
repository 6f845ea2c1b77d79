"""A service dies around its notifications: none is lost, and none has two delivery IDs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.notified import CALLS, run_notified

# Ten installations whose service is killed five times each. A process lives for 1 to 13 moments;
# an unbroken run has about 90.
KILLS = [tuple(1 + (5 * trial + 7 * number) % 13 for number in range(5)) for trial in range(10)]


@pytest.mark.requirement("APR-1")
@pytest.mark.parametrize("kills", [(), *KILLS], ids=str)
async def test_no_notification_is_lost_or_doubled(tmp_path: Path, kills: tuple[int, ...]):
    trial = await run_notified(tmp_path, *kills)
    assert trial.wrong() == []
    assert trial.arrived
    # A run that was cut off more than `MOST_TRIES` times is closed, and fewer processes are killed.
    assert trial.kills == len(kills) or trial.runs[0]["status"] != "success"
    assert len(trial.stored) == len(CALLS) or kills
