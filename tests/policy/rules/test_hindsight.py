"""What past calls would have come to, and how tired people must be."""

from __future__ import annotations

from app.policy.risk.model import Verdict
from app.policy.rules.dry_run import PastCall, compare
from app.policy.rules.fatigue import AskedBefore, figures
from app.policy.rules.rule_set import RuleSet
from tests.policy.verdicts import TOOLS, allow, argv, deny, facts, rule


def past(*commands: str) -> list[PastCall]:
    return [PastCall(f"op_{at}", facts(command)) for at, command in enumerate(commands)]


def test_a_dry_run_tells_what_would_have_changed():
    before = RuleSet([], TOOLS)
    after = RuleSet([rule(deny("no push", **argv("git", "push", "...")))], TOOLS)

    effect = compare(past("ls", "git push", "rm a", "git -C x push"), before, after, "r0", 0)

    assert (effect.judged, effect.matched, effect.unknowable) == (4, 2, 0)
    assert effect.before == {Verdict.ALLOW: 3, Verdict.ASK: 1, Verdict.DENY: 0}
    assert effect.after == {Verdict.ALLOW: 1, Verdict.ASK: 1, Verdict.DENY: 2}
    assert effect.changes == {"allow_to_deny": 2}
    assert effect.examples["allow_to_deny"][0] == {
        "operation_id": "op_1",
        "tool_name": "bash",
        "arguments": {"command": "git push"},
        "reason": "no push",
        "masked": False,
    }


def test_a_dry_run_says_where_masked_arguments_leave_it_unknown():
    after = RuleSet([rule(allow(match={"command": "rm"}))], TOOLS)

    effect = compare(past("rm «redacted»", "rm a"), RuleSet([], TOOLS), after, "r0", 0)

    assert effect.unknowable == 1
    assert effect.changes == {"ask_to_allow": 2}


def test_no_more_than_twenty_examples_are_kept():
    after = RuleSet([rule(deny())], TOOLS)

    effect = compare(past(*["ls"] * 30), RuleSet([], TOOLS), after, "r0", 0)

    assert effect.changes == {"allow_to_deny": 30}
    assert len(effect.examples["allow_to_deny"]) == 20


def asked(outcome: str, *argv: str, code: str = "delete") -> AskedBefore:
    return AskedBefore("bash", (code,), outcome, argv)


def test_what_is_always_approved_proposes_exactly_what_was_approved():
    known = [asked("approved", "rm", "*.pyc")] * 19 + [asked("approved", "rm", "a")]

    found = figures(known, {"default": 400})

    assert (found.prompts, found.prompts_per_100_calls) == (20, 5.0)
    assert found.codes[0].approve_rate == 1.0
    assert found.codes[0].proposals == (
        {
            "tool": "bash",
            "match": {"argv": ["rm", "[*].pyc"]},
            "decision": "allow",
            "justification": "Approved 19 times (delete), never declined",
        },
    )
    wanted = rule(found.codes[0].proposals[0])
    rule_set = RuleSet([wanted], TOOLS)
    effect = compare(past("rm '*.pyc'", "rm x.pyc"), RuleSet([], TOOLS), rule_set, "r0", 0)
    assert effect.changes == {"ask_to_allow": 1}


def test_nothing_is_proposed_while_people_still_decide():
    few = [asked("approved", "rm", "a")] * 19
    declined = [asked("approved", "rm", "a")] * 19 + [asked("declined", "rm", "b")]
    unanswered = [asked("expired", "rm", "a")] * 30
    never = [asked("approved", "x", code="service_access")] * 30

    for known in (few, declined, unanswered, never):
        assert figures(known, {"default": 100}).codes[0].proposals == ()
    assert figures([], {}).prompts_per_100_calls == 0


def test_the_budget_of_questions_is_counted_by_agent_and_reason():
    asked = [
        AskedBefore("bash", ("delete",), "approved", agent="coder", seconds=seconds)
        for seconds in (0.5, 1.0, 4.0, 8.0, 60.0)
    ]
    asked.append(AskedBefore("bash", ("publish",), "declined", agent="coder", seconds=30.0))
    asked.append(AskedBefore("bash", ("delete",), "expired", agent="tester"))

    found = figures(asked, {"coder": 100, "tester": 50, "idle": 10})

    assert (found.calls, found.prompts, found.prompts_per_100_calls) == (160, 7, 4.38)
    coder, tester, idle = sorted(found.agents, key=lambda agent: -agent.prompts)
    assert (coder.agent_id, coder.prompts, coder.prompts_per_100_calls) == ("coder", 6, 6.0)
    assert (coder.times.median_s, coder.times.p90_s, coder.times.fast_share) == (4.0, 60.0, 0.4)
    assert (tester.prompts_per_100_calls, tester.times.median_s) == (2.0, None)
    assert (idle.agent_id, idle.prompts_per_100_calls) == ("idle", 0.0)
    delete = next(code for code in found.codes if code.code == "delete")
    assert (delete.asked, delete.prompts_per_100_calls) == (6, 3.75)
