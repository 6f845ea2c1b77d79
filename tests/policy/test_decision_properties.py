"""What must hold for any call and any rules."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.policy.risk.model import Verdict
from tests.policy.verdicts import Body, allow, judge, rule_set

ORDER = tuple(Verdict)
WORDS = st.sampled_from(
    [
        *("rm", "git", "push", "-rf", "--force", "build", "/etc/x", ".env", "$x", "a"),
        *("'b c'", "curl", "https://x.org", "-C", "--", "*.py"),
    ]
)
PROGRAMS = st.sampled_from(["rm", "git", "sudo", "env", "curl", "ls", "bash -c", "xargs", "$x"])
JOINTS = st.sampled_from([" && ", "; ", " | ", "\n", " || ", " > "])

simple = st.builds(
    lambda program, words: " ".join([program, *words]), PROGRAMS, st.lists(WORDS, max_size=4)
)
commands = st.builds(
    lambda parts, joint: joint.join(parts), st.lists(simple, min_size=1, max_size=3), JOINTS
)
patterns = st.one_of(
    st.sampled_from(["...", "*", "rm", "git", "push", "-*", "--force", "build", "sudo"]),
    st.builds(lambda words: {"any_of": words}, st.lists(WORDS, min_size=1, max_size=3)),
)
matches = st.fixed_dictionaries(
    {},
    optional={
        "argv": st.lists(patterns, min_size=1, max_size=4),
        "command": st.lists(st.sampled_from(["rm", "git", "c*"]), min_size=1, max_size=2),
        "paths": st.lists(
            st.sampled_from(["build/**", "**/.env", "/etc/*", "~/x", "*"]), min_size=1, max_size=2
        ),
        "urls": st.just([{"host": "x.org"}]),
        "fields": st.just({"command": {"glob": "*git*"}}),
    },
)
scopes = st.sampled_from(["global", "agent:a", "session:s"])


def bodies(decision: str) -> st.SearchStrategy[Body]:
    return st.builds(
        lambda match, scope, tool: {
            "tool": tool,
            "match": match,
            "decision": decision,
            "justification": f"{decision} it",
            "scope": scope,
        },
        matches,
        scopes,
        st.sampled_from(["bash", "*", "toolset:shell", "b*"]),
    )


any_rule = st.one_of(bodies("allow"), bodies("ask"), bodies("deny"))
rules = st.lists(any_rule, max_size=4)
flags = st.sampled_from([None, "tool", "operator"])
by_agent: dict[str, Any] = {"agent_id": "a"}


def strength(verdict: Verdict) -> int:
    return ORDER.index(verdict)


@given(commands, rules, st.one_of(bodies("deny"), bodies("ask")), flags)
def test_one_more_deny_or_ask_never_loosens(
    command: str, known: list[Body], further: Body, by: str | None
):
    more = {**by_agent, "asks": by is not None, "asks_by": by}

    before = judge(command, *known, **more)
    after = judge(command, *known, further, **more)

    assert strength(after.verdict) >= strength(before.verdict)


@given(commands, rules, bodies("allow"), flags)
def test_one_more_allow_changes_no_deny_and_no_ask_of_a_rule(
    command: str, known: list[Body], further: Body, by: str | None
):
    more = {**by_agent, "asks": by is not None, "asks_by": by}

    before = judge(command, *known, **more)
    after = judge(command, *known, further, **more)

    of_rules = {f"r{at}" for at in range(len(known))} | {"rule_unresolved", "invalid_rule"}
    if before.verdict is Verdict.DENY:
        assert after.verdict is Verdict.DENY
    elif by == "operator" or any(finding.code in of_rules for finding in before.findings):
        assert after.verdict is Verdict.ASK
    else:
        assert strength(after.verdict) <= strength(before.verdict)


@given(commands, st.lists(bodies("allow"), max_size=4))
def test_what_is_allowed_is_covered_command_by_command(command: str, allows: list[Body]):
    without = judge(command, **by_agent)
    decision = judge(command, *allows, **by_agent)

    if without.verdict is Verdict.ASK and decision.verdict is Verdict.ALLOW:
        assert decision.covered_by
        assert not decision.opaque
        assert all(finding.segment is not None for finding in decision.released)
        # Each command that asked is allowed by itself as well, by one of the rules.
        for at in {finding.segment for finding in decision.released}:
            assert at is not None
            assert all(word is not None for word in decision.segments[at].argv)


@given(commands, simple)
def test_an_allow_for_one_command_never_covers_another_that_asks(first: str, second: str):
    rule = allow(match={"command": "rm"})
    alone = judge(second, rule)

    if alone.verdict is not Verdict.ALLOW:
        assert judge(f"{first}\n{second}", rule).verdict is not Verdict.ALLOW


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(json_values, rules, st.one_of(commands, st.text(max_size=40)))
def test_no_rule_and_no_call_breaks_the_decision(body: Any, known: list[Body], command: str):
    decision = judge(command, body, *known)

    assert decision.verdict in ORDER


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=4), matches)
def test_no_arguments_break_a_rule_about_them(arguments: dict[str, Any], match: Body):
    rule = {"tool": "fetch", "match": match, "decision": "deny", "justification": "no"}

    assert judge(arguments, rule, name="fetch").verdict in ORDER


@given(rules)
def test_a_rule_set_answers_in_any_order_of_its_rules(known: list[Body]):
    forwards = judge("git push && rm build", *known, **by_agent)
    backwards = judge("git push && rm build", *reversed(known), **by_agent)

    assert forwards.verdict is backwards.verdict
    assert len(rule_set(*known).rules) <= len(known)
