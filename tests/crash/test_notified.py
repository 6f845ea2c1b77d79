"""A service dies around its notifications: none is lost, and none has two delivery IDs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.notified import REQUESTS, run_notified

# An unbroken run has about 47 moments.
KILLS = (
    *((moment,) for moment in range(1, 44)),
    *((9, 3), (14, 6), (20, 2), (26, 9), (31, 1, 4), (8, 8), (40, 5)),
)


@pytest.mark.requirement("APR-1")
@pytest.mark.parametrize("kills", [(), *KILLS], ids=str)
async def test_no_notification_is_lost_or_doubled(tmp_path: Path, kills: tuple[int, ...]):
    trial = await run_notified(tmp_path, *kills)
    assert trial.wrong() == []
    # Of a call that was cut off, the next process may ask again.
    assert len(trial.stored) >= REQUESTS
    assert len(trial.arrived) >= REQUESTS
