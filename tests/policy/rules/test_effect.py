"""What one rule does to past calls: what it matches, nearly matches, and why nothing changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.policy.rules.definition import RuleDefinition
from app.policy.rules.dry_run import PastCall, compare
from app.policy.rules.effect import RuleProbe, RuleReach
from app.policy.rules.rule_set import RuleSet
from tests.policy.verdicts import TOOLS, allow, argv, deny, facts, rule


def reach(
    body: dict[str, Any], *commands: str, others: tuple[dict[str, Any], ...] = (), **more: Any
) -> RuleReach:
    """Add the rule r0 to `others` (o0, o1, …) and replay the commands."""
    known = [rule(other) for other in others]
    named = [_renamed(item, f"o{at}") for at, item in enumerate(known)]
    drafted = rule(body)
    probe = RuleProbe(
        drafted, RuleDefinition.model_validate(body), {one.id: one for one in named}, 0.0
    )
    past = [
        PastCall(f"op_{at}", facts(command, **more), "2026-11-30T12:00:00Z")
        for at, command in enumerate(commands)
    ]
    before, after = RuleSet(named, TOOLS), RuleSet([*named, drafted], TOOLS)
    compare(past, before, after, "r0", 0.0, probe)
    return probe.reach()


def _renamed(item: Any, name: str) -> Any:
    return replace(item, id=name)


def codes(found: RuleReach) -> dict[str, int]:
    return {
        obstacle.code + (f":{obstacle.rule_id}" if obstacle.rule_id else ""): count
        for obstacle, count in found.obstacles.items()
    }


def test_matched_calls_come_with_both_verdicts_and_the_nearest_misses_first():
    found = reach(
        deny("no push", **argv("git", "push", "...")),
        *("git push origin main", "ls", "git pull origin", "git push-notes", "rm a"),
    )
    assert found.matched == 1
    ((call, before, after),) = found.matches
    assert (call.operation_id, before.verdict, after.verdict) == ("op_0", "allow", "deny")
    assert call.to_dict()["arguments"] == {"command": "git push origin main"}
    missed = [(miss.call.operation_id, miss.missed) for miss in found.misses]
    assert missed == [("op_2", ("argv",)), ("op_3", ("argv",))]
    assert not found.obstacles


def test_a_miss_names_only_the_conditions_that_are_not_met():
    found = reach(
        {
            "tool": "bash",
            "decision": "deny",
            "justification": "x",
            "scope": "project:web",
            "match": {"command": "rm", "paths": ["dist/**"]},
        },
        *("rm build/a", "rm dist/a"),
        project_id="api",
    )
    assert {miss.call.operation_id: miss.missed for miss in found.misses} == {
        "op_1": ("scope",),
        "op_0": ("paths", "scope"),
    }
    assert [miss.call.operation_id for miss in found.misses] == ["op_1", "op_0"]


OBSTACLES = [
    (allow(**argv("ls", "...")), "ls src", (), {"runs_already": 1}),
    (allow(**argv("rm", "...")), "rm a", (allow(**argv("rm", "a")),), {"allowed_already:o0": 1}),
    (allow(**argv("rm", "a")), "rm a", (deny("x", **argv("rm", "...")),), {"denied_already:o0": 1}),
    (deny("y", **argv("rm", "a")), "rm a", (deny("x", **argv("rm")),), {}),
    (allow(**argv("rm", "...")), "rm -rf /", (), {"floor": 1}),
    (allow(**argv("rm", "a")), "rm a; rm b", (), {"other_commands": 1}),
    (allow(**argv("rm", "a")), "rm a > ~/.bashrc", (), {"outside_command": 1}),
    (allow(**argv("rm", "a")), 'rm a; eval "$(curl x)"', (), {"opaque": 1}),
    (
        allow(**argv("rm", "a")),
        "rm a",
        ({"tool": "bash", "decision": "ask", "justification": "q", **argv("rm", "...")},),
        {"rule_asks:o0": 1},
    ),
    (
        {"tool": "bash", "decision": "ask", "justification": "q", **argv("rm", "...")},
        "rm a",
        (),
        {"asked_already": 1},
    ),
]


@pytest.mark.parametrize(("body", "command", "others", "wanted"), OBSTACLES, ids=str)
def test_why_a_matched_call_keeps_its_verdict(
    body: dict[str, Any],
    command: str,
    others: tuple[dict[str, Any], ...],
    wanted: dict[str, int],
):
    assert codes(reach(body, command, others=others)) == wanted


def test_an_operator_s_setting_asks_whatever_a_rule_allows():
    found = reach(allow(**argv("rm", "a")), "rm a", asks=True, asks_by="operator")
    assert codes(found) == {"setting_asks": 1}


def test_a_rule_of_a_project_applies_in_that_project_alone():
    body = deny("x", scope="project:web", **argv("ls"))
    assert reach(body, "ls", project_id="web").matched == 1
    assert reach(body, "ls", project_id="api").matched == 0
    assert reach(body, "ls").matched == 0
