"""A command that names hosts asks for those that its project does not allow."""

from __future__ import annotations

from typing import Any

from app.core.host_rules import HostRules
from app.policy.decision import Decision
from app.policy.evaluator import decide
from app.policy.facts import CallFacts
from app.policy.grants import Grant, GrantSet, pattern_for
from app.policy.risk.model import Verdict
from app.tools.shell.bash import BashArgs, bash
from tests.policy.verdicts import allow, argv, rule_set


def facts(command: str, *hosts: str, project: tuple[str, ...] = ()) -> CallFacts:
    raw: dict[str, Any] = {"command": command, "allow_hosts": list(hosts)}
    return CallFacts(
        bash, BashArgs(**raw), raw, session_id="ses_1", project_hosts=HostRules.of(project)
    )


def verdict(decision: Decision) -> tuple[Verdict, bool]:
    return decision.verdict, "network_host" in decision.rule_ids


def test_a_new_host_asks_and_one_of_the_project_does_not():
    allowed = ("*.example.com:443,8443", "preset:npm")
    for hosts, asks in (
        (("a.example",), True),
        (("www.example.com",), False),
        (("www.example.com:8443",), False),
        (("www.example.com:22",), True),
        (("*.www.example.com",), False),
        (("example.com",), True),
        (("preset:npm",), False),
        (("preset:python",), True),
        ((), False),
    ):
        decided = decide(facts("ls", *hosts, project=allowed))
        assert verdict(decided)[1] is asks, hosts


def test_an_allow_rule_about_the_command_does_not_cover_hosts():
    rules = rule_set(allow(**argv("npm", "install", "...")))
    assert decide(facts("npm install x"), rules=rules).verdict is Verdict.ALLOW
    assert verdict(decide(facts("npm install x", "a.example"), rules=rules)) == (Verdict.ASK, True)


def test_a_standing_approval_covers_its_hosts_and_no_others():
    asked = facts("npm install x", "a.example")
    pattern = pattern_for(asked, decide(asked))
    assert pattern is not None
    grants = GrantSet([Grant("gra_1", "bash", "session", "ses_1", pattern)])
    assert decide(asked, grants=grants).verdict is Verdict.ALLOW
    assert decide(facts("npm install x", "b.example"), grants=grants).verdict is Verdict.ASK
    assert decide(facts("npm install y", "a.example"), grants=grants).verdict is Verdict.ASK


def test_an_approval_without_hosts_covers_none():
    asked = facts("rm -r build")
    pattern = pattern_for(asked, decide(asked))
    assert pattern is not None
    assert "allow_hosts" not in str(pattern)
    grants = GrantSet([Grant("gra_1", "bash", "session", "ses_1", pattern)])
    assert decide(asked, grants=grants).verdict is Verdict.ALLOW
    assert verdict(decide(facts("rm -r build", "a.example"), grants=grants)) == (
        Verdict.ASK,
        True,
    )
