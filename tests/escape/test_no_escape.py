"""Nothing gets out of the sandbox, at any level and in any setting."""

from __future__ import annotations

import pytest

from app.operations.protocols.sandbox import Level
from tests.escape.attempt import Attempt
from tests.escape.choice import confined, controls, name_of
from tests.escape.conftest import VerdictOf
from tests.escape.settings import Setting


@pytest.mark.parametrize(("setting", "level", "attempt"), controls(), ids=map(name_of, controls()))
def test_the_sandbox_runs_what_is_harmless(
    verdict_of: VerdictOf, setting: Setting, level: Level, attempt: Attempt
):
    verdict = verdict_of(setting, level, attempt)

    assert verdict["unknown"] is None, verdict
    assert verdict["reason"] == "exited"
    assert verdict["harms"] == {}


@pytest.mark.requirement("PYX-12", "PYX-13", "F-3")
@pytest.mark.parametrize(("setting", "level", "attempt"), confined(), ids=map(name_of, confined()))
def test_no_attempt_gets_out(
    verdict_of: VerdictOf, setting: Setting, level: Level, attempt: Attempt
):
    verdict = verdict_of(setting, level, attempt)

    assert verdict["harms"] == {}, verdict
    assert verdict["unknown"] is None, f"it proves nothing: {verdict}"
