"""Rules on the arguments of tools that are no shells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.policy.evaluator import decide
from app.policy.proposals.generalise import drafts
from app.policy.proposals.history import AnsweredCall, History
from app.policy.proposals.proof import ProofInputs, prove
from app.policy.risk.model import Verdict
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.rule_set import RuleSet
from app.toolkit.tool import Tool
from tests.policy.proposals.recorded import NO_CASES, NOW, call
from tests.policy.verdicts import fetch

TOOLS: dict[str, Tool] = {fetch.name: fetch}


def answered(arguments: list[dict[str, Any]], **more: Any) -> list[AnsweredCall]:
    return [
        call(item, day=1 + at % 3, tool=fetch, asks_by="tool", **more)
        for at, item in enumerate(arguments)
    ]


def given(calls: list[AnsweredCall]) -> ProofInputs:
    return ProofInputs(History(calls, RuleSet((), TOOLS), NOW), NO_CASES, TOOLS)


def verdict(body: dict[str, Any], arguments: dict[str, Any]) -> Verdict:
    rules = RuleSet([compile_rule("r", read_definition(body), TOOLS)], TOOLS)
    facts = call(arguments, tool=fetch, asks_by="tool").call.facts
    return decide(facts, rules=rules, now=NOW).verdict


def test_equal_arguments_become_a_rule_on_all_of_them() -> None:
    inputs = given(answered([{"url": "https://a.example/x", "tries": 2}] * 5))

    (draft,) = drafts(inputs.history, NOW)

    assert prove(draft, inputs).questions == 5
    assert draft.body["match"]["fields"] == {
        "url": {"equals": "https://a.example/x"},
        "tries": {"equals": 2},
        "options": {"equals": {}},
    }
    assert verdict(draft.body, {"url": "https://a.example/x", "tries": 2}) is Verdict.ALLOW
    for other in ({"tries": 3}, {"options": {"method": "POST"}}, {"url": "https://a.example/y"}):
        changed = {"url": "https://a.example/x", "tries": 2, **other}
        assert verdict(draft.body, changed) is Verdict.ASK


def test_one_field_may_vary_within_a_kind() -> None:
    urls = [{"url": f"https://a.example/{name}"} for name in ("a/b", "c", "d?e=1", "f/g", "h")]

    (draft,) = drafts(given(answered(urls)).history, NOW)

    assert "regex" in draft.body["match"]["fields"]["url"]
    assert verdict(draft.body, {"url": "https://a.example/other"}) is Verdict.ALLOW
    for url in ("https://b.example/a", "https://a.example.evil/", "https://a.example/../b"):
        assert verdict(draft.body, {"url": url}) is Verdict.ASK


def test_a_number_varies_within_its_digits() -> None:
    tries = [{"url": "https://a.example/x", "tries": number} for number in (3, 14, 15, 92, 65)]

    (draft,) = drafts(given(answered(tries)).history, NOW)

    assert draft.body["match"]["fields"]["tries"] == {"range": {"min": 0, "max": 99}}


@pytest.mark.parametrize(
    "arguments",
    [
        [{"url": f"https://{name}.example/x"} for name in "abcde"],
        [{"url": "https://a.example/x", "options": {"n": n}} for n in range(5)],
        [{"url": f"https://a.example/{n}", "tries": n} for n in range(1, 6)],
    ],
)
def test_what_has_no_narrow_kind_has_no_rule(arguments: list[dict[str, Any]]) -> None:
    assert drafts(given(answered(arguments)).history, NOW) == []


def test_one_other_address_does_not_widen_a_rule() -> None:
    urls = [{"url": f"https://a.example/docs/{name}"} for name in "abcdef"]
    urls.append({"url": "https://a.example/admin/delete"})

    (draft,) = drafts(given(answered(urls)).history, NOW)

    assert verdict(draft.body, {"url": "https://a.example/docs/other"}) is Verdict.ALLOW
    assert verdict(draft.body, {"url": "https://a.example/admin/delete"}) is Verdict.ASK


def test_a_tool_that_takes_more_than_it_names_has_no_rule() -> None:
    open_schema = {**fetch.parameters, "additionalProperties": True}
    wide = replace(fetch, parameters=open_schema)
    calls = [
        call({"url": "https://a.example/x"}, day=1 + at % 2, tool=wide, asks_by="tool")
        for at in range(6)
    ]

    assert drafts(given(calls).history, NOW) == []


def test_a_question_of_the_operator_is_not_answered_by_a_rule() -> None:
    calls = answered([{"url": "https://a.example/x"}] * 6)
    asked = [
        call({"url": "https://a.example/x"}, day=1 + at % 2, tool=fetch, asks_by="operator")
        for at in range(6)
    ]

    assert drafts(given(asked).history, NOW) == []
    assert len(drafts(given(calls).history, NOW)) == 1
