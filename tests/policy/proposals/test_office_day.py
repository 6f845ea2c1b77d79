"""A scripted day, before and after the proposals of the days before it are accepted."""

from __future__ import annotations

from functools import cache

import pytest

from app.policy.evaluator import decide
from app.policy.proposals.corpus import packaged
from app.policy.proposals.generalise import drafts
from app.policy.proposals.history import AnsweredCall, Ending
from app.policy.proposals.proof import first_that_hold
from app.policy.risk.model import Verdict
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.rule_set import RuleSet
from tests.policy.proposals.office_days import DANGEROUS, Step, scripted_day, working_day
from tests.policy.proposals.recorded import NOW, TOOLS, call, inputs

pytestmark = pytest.mark.requirement("FTG-1")

PAST_DAYS = range(1, 9)
CALLS_A_DAY = 150


def decided(step: Step, rules: RuleSet) -> Verdict:
    facts = call(step.arguments, "unasked", tool=step.tool).call.facts
    return decide(facts, rules=rules, now=NOW).verdict


def answered(step: Step, day: int) -> AnsweredCall:
    """The call as it is recorded, with the answer of a person who knows the work."""
    verdict = decided(step, RuleSet())
    ending: Ending = "unasked"
    if verdict is Verdict.DENY:
        ending = "denied"
    elif verdict is Verdict.ASK:
        ending = "declined" if step.is_dangerous else "approved"
    return call(step.arguments, ending, day=day, tool=step.tool)


@cache
def accepted() -> RuleSet:
    """Everything that the past days lead to, each proposal accepted as it is."""
    past = [answered(step, day) for day in PAST_DAYS for step in working_day(day, CALLS_A_DAY)]
    given = inputs(past, corpus=packaged())
    held = first_that_hold(drafts(given.history, NOW), given, 50)
    rules = [
        compile_rule(f"rul_{at}", read_definition(draft.body), TOOLS)
        for at, (draft, _) in enumerate(held)
    ]
    return RuleSet(rules, TOOLS)


@pytest.mark.parametrize("day", [20, 21, 22, 23])
def test_a_day_of_400_calls_asks_at_most_8_times(day: int) -> None:
    steps = scripted_day(day)
    harmless = [step for step in steps if not step.is_dangerous]
    before = sum(decided(step, RuleSet()) is Verdict.ASK for step in harmless)

    after = sum(decided(step, accepted()) is Verdict.ASK for step in harmless)

    assert len(steps) == 400
    assert before > 20
    assert after <= 8
    assert not any(decided(step, accepted()) is Verdict.DENY for step in harmless)


@pytest.mark.parametrize("command", DANGEROUS)
def test_no_dangerous_call_is_free(command: str) -> None:
    step = Step({"command": command}, is_dangerous=True)

    assert decided(step, RuleSet()) is not Verdict.ALLOW
    assert decided(step, accepted()) is not Verdict.ALLOW


def test_there_are_forty_dangerous_calls() -> None:
    assert len(set(DANGEROUS)) == 40
