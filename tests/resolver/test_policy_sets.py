"""Stored rules become a book: once per change, whatever some of them hold."""

from __future__ import annotations

from typing import Any

from app.catalog.catalog import Catalog
from app.governance.rules import RuleFile, StoredRule, file_rules
from app.policy.rules.compile import compile_rule, read_definition
from app.resolver.policy_sets import RuleSetCache
from app.toolkit.tool import Tool
from app.tools.data.calculator import calculator


def catalog_of(*tools: Tool) -> Catalog:
    return Catalog(tools={tool.name: tool for tool in tools})


def rules(*bodies: Any) -> tuple[StoredRule, ...]:
    return file_rules(bodies)


DENY = {"tool": "calculator", "decision": "deny", "justification": "count yourself"}


def test_a_rule_set_is_built_once_for_each_change():
    file = RuleFile(rules(DENY))
    state: dict[str, Any] = {"catalog": catalog_of(calculator)}
    rule_sets = RuleSetCache(file, lambda: state["catalog"])

    first = rule_sets.current()
    assert rule_sets.current() is first
    assert len(first.for_tool("calculator")) == 1
    assert first.for_tool("calculator") is first.for_tool("calculator")

    kept = first.rules[0]
    file.snapshot = rules(DENY, {**DENY, "enabled": False})
    assert rule_sets.current().rules == (kept,), "what has not changed is not compiled again"
    state["catalog"] = Catalog()
    assert not rule_sets.current().for_tool("calculator")


def test_an_invalid_rule_is_listed_and_leaves_the_rest():
    rule_sets = RuleSetCache(
        RuleFile(rules({**DENY, "justification": ""}, DENY, 7)), lambda: catalog_of(calculator)
    )

    listed = [(item.stored.id, item.problems != ()) for item in rule_sets.loaded()]

    assert listed == [("file:1", True), ("file:2", False), ("file:3", True)]
    assert [rule.broken != "" for rule in rule_sets.current().rules] == [True, False, True]


def test_a_rule_can_be_put_beside_the_others_or_in_the_place_of_one():
    stored = rules(DENY)
    rule_sets = RuleSetCache(RuleFile(stored), lambda: catalog_of(calculator))
    draft = compile_rule("draft", read_definition({**DENY, "decision": "ask"}))

    assert [rule.id for rule in rule_sets.with_rule(draft).rules] == ["file:1", "draft"]
    assert [rule.id for rule in rule_sets.with_rule(draft, instead_of="file:1").rules] == ["draft"]
    assert [rule.id for rule in rule_sets.with_rule(None, instead_of="file:1").rules] == []
    assert [rule.id for rule in rule_sets.current().rules] == ["file:1"]


def test_a_review_takes_in_a_rule_that_is_not_stored():
    stored = rules(DENY)
    rule_sets = RuleSetCache(RuleFile(stored), lambda: catalog_of(calculator))
    draft = read_definition({**DENY, "decision": "ask"})

    found = rule_sets.review(0.0, further={"draft": draft})()

    assert [item["code"] for item in found["draft"]] == ["unreachable"]
    assert found["file:1"] == []
