"""Limits as a value: reading, writing, and the tighter of two."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidInput
from app.governance.limits import NO_LIMITS, Limits


def test_limits_survive_their_json():
    limits = Limits(calls_per_minute=3, cost_per_session=0.5)
    assert limits.to_json() == {"calls_per_minute": 3, "cost_per_session": 0.5}
    assert Limits.from_json(limits.to_json()) == limits
    assert repr(Limits.from_json({"concurrent": 2.0}).concurrent) == "2"
    assert Limits.from_json('{"concurrent": 0}') == Limits(concurrent=0)
    for nothing in (None, "", "{}", {}, {"concurrent": None}):
        assert Limits.from_json(nothing) is NO_LIMITS


def test_every_problem_is_named_at_once():
    wrong = {"calls": 1, "concurrent": -1, "calls_per_run": 1.5, "calls_per_minute": True}
    with pytest.raises(InvalidInput) as refused:
        Limits.from_json(wrong)
    assert [item["path"] for item in refused.value.details["errors"]] == [
        "limits.calls",
        "limits.concurrent",
        "limits.calls_per_run",
        "limits.calls_per_minute",
    ]


@pytest.mark.parametrize("value", [3, "[]", "{", [], '{"cost_per_session": "x"}', {"": 1}])
def test_what_is_no_set_of_limits_is_refused(value: object):
    with pytest.raises(InvalidInput):
        Limits.from_json(value)


def test_the_tighter_of_each_pair_holds():
    first = Limits(calls_per_minute=5, concurrent=2)
    second = Limits(calls_per_minute=3, cost_per_session=1.0)
    both = Limits(calls_per_minute=3, concurrent=2, cost_per_session=1.0)
    assert Limits.tightest(first, second) == Limits.tightest(second, first) == both
    assert Limits.tightest(None, None) is NO_LIMITS
    assert Limits.tightest(first, None) is first
    assert Limits.tightest(Limits(concurrent=0), first).concurrent == 0


def test_only_limits_on_calls_concern_calls():
    assert not Limits(tokens_per_session=1, cost_per_session=1).of_calls
    assert Limits(calls_per_run=0).of_calls
    assert Limits(calls_per_run=0)
    assert not NO_LIMITS
