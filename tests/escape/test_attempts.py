"""The attempts are real: where nothing confines them they do what they are after."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from app.operations.protocols.sandbox import LEVELS, Level
from tests.escape.attempt import Attempt, Category
from tests.escape.attempts.collected import ATTEMPTS
from tests.escape.choice import name_of, unconfined
from tests.escape.conftest import VerdictOf
from tests.escape.judges import EVERY_JUDGE
from tests.escape.settings import Setting


@pytest.mark.parametrize(
    ("setting", "level", "attempt"), unconfined(), ids=map(name_of, unconfined())
)
def test_an_attempt_succeeds_where_nothing_confines_it(
    verdict_of: VerdictOf, setting: Setting, level: Level, attempt: Attempt
):
    verdict = verdict_of(setting, level, attempt)

    assert attempt.harm.__name__ in verdict["harms"], verdict


def test_every_category_is_tried_at_every_level():
    tried = {(attempt.category, level) for attempt in ATTEMPTS for level in attempt.at()}
    expected = {(category, level) for category in get_args(Category) for level in LEVELS}

    assert expected - tried == {("introspection", "bash")}  # bash has no builtins to regain


def test_attempts_have_names_of_their_own_and_harms_that_are_judged():
    names = Counter(attempt.name for attempt in ATTEMPTS)

    assert [name for name, count in names.items() if count > 1] == []
    assert {attempt.harm for attempt in ATTEMPTS} <= set(EVERY_JUDGE)
