"""Which attempts are made, and the verdicts on them.

All that a test run has collected for one setting is made by its drivers in one go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.operations.protocols.sandbox import Level
from scripts.parts import OPEN_PYTHON
from tests.escape.attempt import Attempt
from tests.escape.attempts.collected import CONTROL
from tests.escape.settings import Chosen, NoInterpreter, Setting, Verdict, run_driver
from tests.support.binaries import lacks

VerdictOf = Callable[[Setting, Level, Attempt], Verdict]


@pytest.fixture(scope="session")
def verdict_of(request: pytest.FixtureRequest) -> VerdictOf:
    """The verdict on one attempt; skips where its setting cannot be had here."""
    made: dict[Setting, dict[Chosen, Verdict] | None] = {}

    def verdict(setting: Setting, level: Level, attempt: Attempt) -> Verdict:
        if setting not in made:
            try:
                made[setting] = run_driver(setting, _collected(request.session, setting))
            except NoInterpreter:
                made[setting] = None
        found = made[setting]
        if found is None:
            lacks(OPEN_PYTHON)
        return found[level, attempt.name]

    return verdict


def _collected(session: pytest.Session, setting: Setting) -> list[Chosen]:
    """What this test run will ask of the drivers of a setting."""
    runs = [getattr(item, "callspec", None) for item in session.items]
    params: list[dict[str, Any]] = [run.params for run in runs if run is not None]
    return [
        (each["level"], each["attempt"].name)
        for each in params
        if each.get("setting") == setting and each["attempt"] is not CONTROL
    ]
