"""A lasting approval covers what a person saw, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from app.policy.grants import Grant, GrantSet, describe_pattern, pattern_for
from tests.policy.verdicts import allow, ask, deny, facts, judge


def pattern(call: str | dict[str, Any], *rules: Any, **more: Any) -> dict[str, Any] | None:
    name = more.pop("name", "bash")
    decision = judge(call, *rules, name=name, **more)
    return pattern_for(facts(call, name, **more), decision)


def granted(wanted: dict[str, Any] | None, scope: str = "always", **fields: Any) -> GrantSet:
    assert wanted is not None
    tool = fields.pop("tool", "bash")
    return GrantSet([Grant("g1", tool, scope, fields.pop("scope_id", None), wanted, **fields)])


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm   -rf  'build'",
        "rm -rf build && npm test",
        "ls; rm -rf build",
        "cd . && rm -rf build",
        'git commit -m "fix: a && b; c"; rm -rf build',
        "rm -rf build && echo 'a;b' \"c|d\"",
    ],
)
def test_an_approved_command_is_not_asked_about_again(command: str):
    grants = granted(pattern("rm -rf build"))

    decision = judge(command, grants=grants)

    assert decision.verdict == "allow"
    assert decision.grant_id == "g1"
    assert {finding.code for finding in decision.released} == {"delete"}


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build other",
        "rm -rf build/",
        "rm -rf build; rm x",
        "cd a && rm -rf build",
        "sudo rm -rf build",
        "rm -rf build > ~/.bashrc",
        "export A=b; rm -rf build",
        "GIT_DIR=x rm -rf build",
        "echo x | xargs rm -rf build",
        "rm -rf build $x",
        "alias rm=shred; rm -rf build",
        'echo "$(rm -rf x; ls)"; rm -rf build',
        'echo "a; rm -rf build',
        "bash -c 'ls; rm -rf build'",
    ],
)
def test_a_variant_of_an_approved_command_asks(command: str):
    grants = granted(pattern("rm -rf build"))

    assert judge(command, grants=grants).verdict == "ask"


@pytest.mark.parametrize(
    "before", ["printf -v PATH .", "mapfile PATH", "let PATH=1", "coproc x", "getopts a PATH"]
)
def test_what_changes_the_words_of_later_commands_is_no_part_of_a_grant(before: str):
    grants = granted(pattern("rm -rf build"))

    assert judge("printf done; rm -rf build", grants=grants).grant_id == "g1"
    assert judge(f"{before}; rm -rf build", grants=grants).verdict == "ask"


def test_a_directory_that_was_surely_entered_is_not_one_that_may_have_been():
    grants = granted(pattern("cd build && rm a"))

    assert judge("cd build && rm a", grants=grants).grant_id == "g1"
    assert judge("cd build || rm a", grants=grants).verdict == "ask"
    assert judge("cd build; rm a", grants=grants).verdict == "ask"


def test_a_force_push_never_grants_a_plain_or_another_one():
    wanted = pattern("git push --force origin x")
    grants = granted(wanted)

    assert wanted == {
        "kind": "segments",
        "segments": [{"argv": ["git", "push", "--force", "origin", "x"], "cwd": "/workspace"}],
        "rest": {},
    }
    assert judge("git push --force origin x", grants=grants).grant_id == "g1"
    assert judge("git push --force origin main", grants=grants).verdict == "ask"


@pytest.mark.parametrize(
    ("literal", "glob"),
    [
        ("rm -rf '*'", "rm -rf *"),
        ('rm "a?"', "rm a?"),
        ("rm a\\[b]", "rm a[b]"),
        ("ls *; rm -rf 'x/*'", "rm -rf x/*"),
    ],
)
def test_an_approved_name_with_a_star_in_it_is_no_approval_of_a_glob(literal: str, glob: str):
    grants = granted(pattern(literal))

    assert judge(literal.removeprefix("ls *; "), grants=grants).grant_id == "g1"
    assert judge(glob, grants=grants).verdict == "ask"


def test_a_glob_is_granted_to_the_letter():
    wanted = pattern("rm -rf build/*")
    grants = granted(wanted)

    assert describe_pattern(wanted or {}) == "only this exact command in /workspace: rm -rf build/*"
    assert judge("rm -rf build/*", grants=grants).grant_id == "g1"
    for other in ("rm -rf 'build/*'", "rm -rf build/* other", "ls; rm -rf build/*"):
        assert judge(other, grants=grants).verdict == "ask"


def test_what_is_no_plain_list_is_granted_to_the_letter():
    command = "echo good | sudo tee /etc/motd"
    grants = granted(pattern(command))

    assert judge(command, grants=grants).grant_id == "g1"
    assert judge("echo evil | sudo tee /etc/motd", grants=grants).verdict == "ask"
    assert judge(command, grants=grants, cwd="/elsewhere").verdict == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm $x",
        'bash -c "$x"',
        "python -c 'import shutil; shutil.rmtree(p)'",
        "rm -rf /",
        "cd $x && rm a",
        "rm " + "a" * 9_000,
        "ls",
    ],
)
def test_what_cannot_be_shown_or_read_in_full_is_never_granted(command: str):
    assert pattern(command) is None


def test_what_a_rule_could_not_judge_is_never_granted():
    assert pattern("git $x", deny(match={"argv": ["git", "push"]})) is None
    assert pattern("rm a", {"tool": "bash", "decision": "deny"}) is None


def test_a_deny_that_came_later_beats_a_grant():
    grants = granted(pattern("rm a"))

    assert judge("rm a", deny(match={"command": "rm"}), grants=grants).verdict == "deny"


def test_a_grant_answers_the_question_of_a_rule_and_of_a_flag():
    rule = ask(match={"command": "ls"})
    grants = granted(pattern("ls -l", rule))

    assert judge("ls -l", rule, grants=grants).grant_id == "g1"
    assert judge("ls -l && ls -a", rule, grants=grants).verdict == "ask"

    flagged = granted(pattern("ls", asks=True, asks_by="operator"))
    assert judge("ls", grants=flagged, asks=True, asks_by="operator").grant_id == "g1"
    assert judge("ls && pwd", grants=flagged, asks=True, asks_by="operator").verdict == "ask"


def test_no_answer_lasts_and_no_rule_helps_where_the_sandbox_is_too_weak():
    weak: dict[str, Any] = {"asks": True, "asks_by": "sandbox"}
    grants = granted(pattern("ls -l", ask(match={"command": "ls"})))

    assert pattern("ls -l", **weak) is None
    assert judge("ls -l", allow(), grants=grants, **weak).verdict == "ask"
    assert "weak_sandbox" in judge("ls -l", **weak).rule_ids


def test_other_tools_are_granted_by_their_exact_arguments():
    flags: dict[str, Any] = {"name": "fetch", "asks": True, "asks_by": "tool"}
    wanted = pattern({"url": "a", "tries": 2}, **flags)
    grants = granted(wanted, tool="fetch")

    assert judge({"tries": 2, "url": "a"}, grants=grants, **flags).grant_id == "g1"
    assert judge({"url": "a", "tries": 3}, grants=grants, **flags).verdict == "ask"
    assert judge({"url": "a", "tries": 2}, grants=grants, cwd="/other", **flags).verdict == "ask"


@pytest.mark.parametrize(
    ("scope", "scope_id", "more", "covered"),
    [
        ("run", "r1", {"run_id": "r1"}, True),
        ("run", "r1", {"run_id": "r2"}, False),
        ("session", "s1", {"session_id": "s1"}, True),
        ("session", "s1", {}, False),
        ("agent", "a1", {"agent_id": "a1"}, True),
        ("agent", None, {}, False),
        ("always", None, {}, True),
        ("galaxy", None, {}, False),
    ],
)
def test_a_grant_holds_in_its_scope(
    scope: str, scope_id: str | None, more: dict[str, Any], *, covered: bool
):
    grants = granted(pattern("rm a"), scope, scope_id=scope_id)

    assert (judge("rm a", grants=grants, **more).grant_id == "g1") is covered


def test_a_grant_ends():
    grants = granted(pattern("rm a"), expires_at=100.0)

    assert judge("rm a", grants=grants, now=99).grant_id == "g1"
    assert judge("rm a", grants=grants, now=100).verdict == "ask"


@pytest.mark.parametrize("wanted", [{}, {"kind": "segments"}, {"kind": "command"}, {"kind": "x"}])
def test_a_pattern_that_says_nothing_covers_nothing(wanted: dict[str, Any]):
    assert judge("rm a", grants=granted(wanted)).verdict == "ask"


def test_an_allow_and_a_grant_may_share_the_work():
    grants = granted(pattern("rm a", asks=True, asks_by="operator"))

    decision = judge("rm a", allow(), grants=grants, asks=True, asks_by="operator")

    assert decision.grant_id == "g1"


def test_a_pattern_is_described_in_words():
    assert describe_pattern(pattern("rm 'a b'") or {}) == (
        "`rm 'a b'` in /workspace, also together with commands that need no approval"
    )
    command = "echo x | sudo tee /etc/motd"
    assert describe_pattern(pattern(command) or {}) == (
        f"only this exact command in /workspace: {command}"
    )
    fetched = pattern({"url": "a"}, name="fetch", asks=True)
    assert describe_pattern(fetched or {}) == 'only these exact arguments: {"url":"a"}'
