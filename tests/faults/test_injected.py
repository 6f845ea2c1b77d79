"""Each fault once, in an order of its own, beside load: nothing must be wrong."""

from __future__ import annotations

import pytest

from scripts.inject_faults import DISK, FAULTS, run_trial
from scripts.parts import ROOT_USER


@pytest.mark.parametrize("seed", [7])
async def test_a_service_answers_through_every_fault_and_loses_nothing(seed: int):
    seen = await run_trial(seed=seed, workers=2)
    assert seen.wrong == []
    assert set(FAULTS) - DISK <= set(seen.faults)
    assert ROOT_USER.is_here() or DISK.isdisjoint(seen.faults)
    assert seen.health > 0
    assert seen.sessions
    assert seen.files
