"""Proposals the other way: rules that deny, and rules that do nothing any more."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.clock import stamp
from app.policy.proposals.corpus import packaged
from app.policy.proposals.opposite import KnownRule, denials, removals
from app.policy.proposals.proof import prove
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.definition import RuleDefinition
from tests.policy.proposals.recorded import NOW, TOOLS, call, inputs

pytestmark = pytest.mark.requirement("FTG-4")

DAY_S = 86_400


def body(*argv: Any, decision: str = "allow", **more: Any) -> RuleDefinition:
    why = {"justification": "because"} if decision != "allow" else {}
    given = {"tool": "bash", "match": {"argv": list(argv)}, "decision": decision}
    return read_definition({**given, **why, **more})


def known(rule_id: str, definition: RuleDefinition, *, days: float = 1, **more: Any) -> KnownRule:
    return KnownRule(rule_id, definition, stamp(NOW - days * DAY_S), **more)


def test_a_denial_says_who_declined_and_what_to_do() -> None:
    calls = [call("git push --force", "declined", by="ann"), call("git push --force", "declined")]
    given = inputs([*calls, call("ls", "unasked")], corpus=packaged())

    (draft,) = denials(given.history)
    proof = prove(draft, given)

    assert draft.body["match"] == {"argv": ["git", "push", "--force"]}
    assert draft.body["justification"].startswith("Declined 2 times by ann (2) and never approved.")
    compile_rule("r", read_definition(draft.body), TOOLS)
    assert (proof.holds, proof.newly_denied, proof.newly_denied_approved) == (True, 2, 0)


def test_agents_that_were_declined_alike_are_denied_alike() -> None:
    calls = [call("pkill -f postgres", "declined", agent=agent) for agent in ("coder", "tester")]

    (draft,) = denials(inputs(calls).history)

    assert draft.body["scope"] == "global"


def test_a_pattern_is_denied_as_it_stands() -> None:
    calls = [call("rm 'a b'", "declined"), call("rm 'a b'", "declined")]

    (draft,) = denials(inputs(calls).history)

    assert draft.body["match"] == {"argv": ["rm", "a b"]}


@pytest.mark.parametrize("days", [89, 90, 400])
def test_a_rule_that_has_not_matched_for_90_days_is_to_be_removed(days: int) -> None:
    rules = [known("old", body("rm", "a"), days=days), known("new", body("rm", "b"), days=89)]

    found = removals(rules, NOW)

    assert [draft.rule_id for draft in found] == (["old"] if days >= 90 else [])
    assert all(f"for {days} days" in draft.why for draft in found)


def test_a_rule_that_another_implies_is_to_be_removed() -> None:
    wide = body("rm", {"type": "path", "begins": "tmp/"})
    rules = [
        known("narrow", body("rm", "tmp/a")),
        known("other", body("rm", "src/a")),
        known("wide", wide),
        known("denied", body("rm", "...", decision="deny")),
    ]

    found = removals(rules, NOW)

    assert [draft.rule_id for draft in found] == ["narrow"]
    assert "wide" in found[0].why


def test_of_equal_rules_one_stays() -> None:
    rules = [known(name, body("rm", "a")) for name in ("first", "second", "third")]

    assert [draft.rule_id for draft in removals(rules, NOW)] == ["third", "second"]


def test_a_shorter_lasting_rule_implies_no_other() -> None:
    ending = body("rm", "a", expires_at=stamp(NOW + DAY_S))

    assert removals([known("ending", ending), known("lasting", body("rm", "a"))], NOW)[
        0
    ].rule_id == ("ending")


def test_a_rule_of_the_file_cannot_be_removed() -> None:
    rules = [known("file:1", body("rm", "a"), days=400, is_removable=False)]

    assert removals(rules, NOW) == []


def test_a_removal_that_would_change_a_call_does_not_hold() -> None:
    allowing = body("rm", "tmp/a")
    rule = compile_rule("rul_1", allowing, TOOLS)
    (draft,) = removals([known("rul_1", allowing, days=100)], NOW)

    used = prove(draft, inputs([call("rm tmp/a", "unasked")], [rule]))
    unused = prove(draft, inputs([call("rm tmp/b")], [rule]))

    assert not used.holds
    assert "1 calls would be decided differently" in used.problems[0]
    assert unused.holds


def test_a_denial_that_guards_against_the_corpus_is_not_removed() -> None:
    denying = body("git", "push", "--force", "...", decision="deny")
    rule = compile_rule("rul_1", denying, TOOLS)
    (draft,) = removals([known("rul_1", denying, days=100)], NOW)

    proof = prove(draft, inputs([call("ls", "unasked")], [rule], packaged()))

    assert not proof.holds
    assert proof.corpus_changed_total > 0


def test_a_rule_that_is_gone_cannot_be_removed() -> None:
    (draft,) = removals([known("rul_1", body("rm", "a"), days=100)], NOW)

    assert prove(draft, inputs([])).problems == ["the rule is no longer in force"]
