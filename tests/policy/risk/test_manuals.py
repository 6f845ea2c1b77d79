"""Commands collected from manuals by others than who wrote the rules, as far as they are judged.

Each set was measured before a rule was written for it: `a` and `b` hold many programs that are
seldom met, `c` to `f` what agents and developers type. What `a` to `e` showed is closed since; `f`
is as it was first measured. The shares below are those of today, and may only fall.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.judgement import Figures, cases, figures

_FILE = Path(__file__).with_name("risk_manuals.jsonl")
_MOST_MISSED = {"a": 0.026, "b": 0.041, "c": 0.015, "d": 0.031, "e": 0.025, "f": 0.039}
_MOST_ALARMS = 0.01


@pytest.fixture(scope="module")
def by_set() -> dict[str, Figures]:
    return figures(cases(_FILE), "set")


@pytest.mark.requirement("F-10", "CNF-01")
@pytest.mark.parametrize("part", sorted(_MOST_MISSED))
def test_few_risky_commands_run_without_a_question(by_set: dict[str, Figures], part: str) -> None:
    assert by_set[part].missed_share <= _MOST_MISSED[part], by_set[part]


@pytest.mark.parametrize("part", sorted(_MOST_MISSED))
def test_harmless_commands_are_free_and_none_is_refused(
    by_set: dict[str, Figures], part: str
) -> None:
    assert by_set[part].alarm_share <= _MOST_ALARMS, by_set[part]
    assert by_set[part].denied == 0, by_set[part].wrong


def test_every_set_is_measured(by_set: dict[str, Figures]) -> None:
    assert by_set.keys() == _MOST_MISSED.keys()
    assert all(min(found.risky, found.safe) >= 150 for found in by_set.values())
