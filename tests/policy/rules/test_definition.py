"""What is written is checked as a whole, and what is invalid never counts as nothing."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidInput
from app.policy.rules.compile import compile_rule, load_rule, read_definition
from app.policy.rules.places import CallPath, PathPattern
from app.policy.rules.review import RuleContext, RuleReview
from app.policy.rules.words import MAYBE, NO, YES
from tests.policy.verdicts import TOOLS, allow, argv, ask, deny, judge, rule_set, verdict


def test_every_problem_is_reported_at_once_with_its_path():
    body = {
        "tool": "a b",
        "match": {
            "argv": ["git", {"any_of": []}, 7],
            "fields": {"a..b": {"equals": 1}, "c": {"regex": "(", "glob": "x"}},
            "paths": ["../x"],
            "urls": [{}],
        },
        "decision": "deny",
        "scope": "everybody",
        "expires_at": "tomorrow",
        "colour": "red",
    }

    with pytest.raises(InvalidInput) as caught:
        read_definition(body)

    paths = {problem["path"] for problem in caught.value.details["errors"]}
    assert paths == {
        "tool",
        "match.argv[1].any_of",
        "match.argv[2]",
        "match.fields.c.regex",
        "match.paths",
        "match.urls[0]",
        "justification",
        "scope",
        "expires_at",
        "colour",
    }


@pytest.mark.parametrize(
    "match",
    [
        {"argv": []},
        {"command": "rm -rf"},
        {"fields": {"a": {}}},
        {"fields": {"a": {"equals": 1, "in": [1]}}},
        {"fields": {"a[": {"equals": 1}}},
        {"fields": {"a": {"range": {"min": 2, "max": 1}}}},
        {"fields": {"a": {"glob": None}}},
        {"paths": ["~bob/x"]},
        {"urls": [{"port": "80"}]},
    ],
)
def test_what_cannot_be_meant_is_refused(match: dict[str, Any]):
    with pytest.raises(InvalidInput):
        read_definition(allow(match=match))


def test_a_definition_is_stored_as_it_was_written():
    body = deny(
        match={"argv": ["git", {"any_of": ["push"]}], "fields": {"a": {"in": [1, None]}}},
        expires_at="2030-01-01T00:00:00Z",
        examples={"match": ["git push", {"command": "git push"}]},
    )

    assert read_definition(body).to_json() == body
    assert read_definition(deny(match={"fields": {"a": {"equals": None}}})).to_json() == (
        deny(match={"fields": {"a": {"equals": None}}})
    )


def test_examples_are_run_and_each_that_fails_is_named():
    body = deny(
        **argv("git", "push", "..."),
        examples={
            "match": ["git -C a push", "git pull"],
            "not_match": ["git status", "sudo git push", "git $x"],
        },
    )

    with pytest.raises(InvalidInput) as caught:
        compile_rule("r", read_definition(body), TOOLS)

    assert caught.value.details["errors"] == [
        {
            "path": "examples.match[1]",
            "message": "'git pull' is not matched",
            "code": "example_failed",
        },
        {
            "path": "examples.not_match[1]",
            "message": "'sudo git push' is matched",
            "code": "example_failed",
        },
        {
            "path": "examples.not_match[2]",
            "message": "'git $x' is known only when it runs",
            "code": "example_failed",
        },
    ]


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        (allow(match={"command": "rm"}, examples={"match": ["rm a", "timeout 3 rm a"]}), True),
        (allow(match={"command": "rm"}, examples={"match": ["rm a && ls"]}), False),
        (allow(match={"command": "rm"}, examples={"match": ["rm -rf /"]}), False),
        (allow(match={"command": "rm"}, examples={"not_match": ["sudo rm a", "$x"]}), True),
        (
            {
                **deny(match={"fields": {"url": {"glob": "http:*"}}}),
                "tool": "fetch",
                "examples": {"match": [{"url": "http://x"}], "not_match": [{"url": "https://x"}]},
            },
            True,
        ),
        (
            {
                **deny(match={"paths": ["keys/**"]}),
                "tool": "write_file",
                "examples": {"match": [{"path": "keys/a", "content": ""}]},
            },
            True,
        ),
        ({**deny(**argv("git")), "tool": "none", "examples": {"match": ["git"]}}, True),
    ],
)
def test_examples_are_read_as_the_rule_reads_calls(body: dict[str, Any], *, holds: bool):
    problems = load_rule("r", body, TOOLS)[2]

    assert (problems == []) is holds


def test_an_invalid_ask_or_deny_asks_for_its_tool_and_leaves_the_rest():
    broken = deny(**argv("git", "push"), examples={"match": ["ls"]})

    decision = judge("ls", broken, deny(**argv("curl", "...")))

    assert decision.verdict == "ask"
    assert decision.rule_ids == ("invalid_rule",)
    assert decision.asks
    assert verdict("curl x", broken, deny(**argv("curl", "..."))) == "deny"
    assert verdict({"url": "x"}, broken, name="fetch") == "allow"


def test_an_invalid_rule_without_a_readable_tool_asks_for_every_tool():
    bodies: list[Any] = [None, [], {"decision": "deny"}, {"tool": 7, "decision": "deny"}, "x"]
    for body in bodies:
        assert verdict({"url": "x"}, body, name="fetch") == "ask"


def test_an_invalid_allow_allows_nothing():
    broken = allow(match={"command": "rm"}, examples={"match": ["ls"]})

    assert rule_set(broken).rules == ()
    assert verdict("rm a", broken) == "ask"


def test_an_invalid_rule_keeps_its_scope_and_end():
    body = deny(scope="agent:a", examples={"match": [{"url": 1}], "not_match": ["x"]})

    assert verdict("ls", body, agent_id="b") == "allow"
    assert verdict("ls", body, agent_id="a") == "ask"


def warned(*bodies: dict[str, Any], now: float = 0.0) -> dict[str, list[str]]:
    definitions = {f"r{at}": read_definition(body) for at, body in enumerate(bodies)}
    around = RuleContext(TOOLS, now, agents={"writer"})
    review = RuleReview(definitions)
    found = review.warnings(around)
    assert found == {key: review.warnings(around, [key])[key] for key in definitions}
    return {key: [item["code"] for item in value] for key, value in found.items() if value}


def test_rules_that_hardly_do_what_was_meant_are_pointed_out():
    assert warned(deny(expires_at="1970-01-01T00:00:01Z"), now=2) == {"r0": ["expired"]}
    assert warned(deny(scope="agent:nobody")) == {"r0": ["unknown_agent"]}
    assert warned(deny(scope="agent:writer")) == {}
    assert warned(deny(scope="agent:default")) == {}
    assert warned({**deny(), "tool": "gone"}) == {"r0": ["unknown_tool"]}
    assert warned({**deny(**argv("rm")), "tool": "fetch"}) == {"r0": ["never_matches"]}
    assert warned(allow()) == {"r0": ["allows_everything"]}
    assert warned(allow(match={"paths": ["out/**"]})) == {"r0": ["never_matches"]}
    regex = {**allow(match={"fields": {"url": {"regex": "x.org"}}}), "tool": "fetch"}
    assert warned(regex) == {"r0": ["unanchored"]}


def test_a_rule_that_a_stronger_one_hides_is_pointed_out():
    assert warned(deny(**argv("git", "...")), allow(**argv("git", "push"))) == {
        "r1": ["unreachable"]
    }
    assert warned(ask(), allow(**argv("git", "push"))) == {"r1": ["unreachable"]}
    assert warned(deny(match={"command": ["git", "hub"]}), ask(**argv("git", "..."))) == {
        "r1": ["unreachable"]
    }
    assert warned(deny(**argv("git", "push")), allow(**argv("git", "..."))) == {}
    assert warned(deny(scope="agent:writer"), ask()) == {}
    assert warned(deny(enabled=False), ask()) == {}
    assert warned(deny(expires_at="2030-01-01T00:00:00Z"), ask()) == {}
    assert warned(deny("a"), deny("b")) == {"r0": ["duplicate"], "r1": ["duplicate"]}


def test_a_value_that_is_nested_without_end_is_refused():
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    body = {**deny(), "tool": "write_file", "match": {"fields": {"a": {"equals": deep}}}}

    with pytest.raises(InvalidInput, match="nested more than"):
        read_definition(body)


@pytest.mark.parametrize("pattern", ["/" + "*a" * 300, "/" + "**/a*" * 150, "/**/*a*a*a*a*b"])
def test_no_pattern_takes_for_ever_on_any_path(pattern: str):
    path = PathPattern(pattern)

    assert path.match(CallPath("/" + "a" * 20_000 + "c"), "/workspace") is NO
    assert path.match(CallPath("/" + "a/" * 10_000 + "c"), "/workspace") is NO
    assert path.match(CallPath("/" + "a*" * 10_000 + "c"), "/workspace") in (NO, MAYBE)


def test_a_command_of_globs_is_not_compared_with_every_pattern():
    words = " ".join(f"/a{number}*" + "b*" * 20 for number in range(3_000))

    assert judge(f"cat {words}", deny(match={"paths": ["/a*/x*y*/**"]})).verdict == "ask"


@pytest.mark.parametrize("pattern", ["/a/[z-a]", "/a/[[]x", "/a/[&&]", "/a/[\\]"])
def test_an_odd_class_of_characters_breaks_nothing(pattern: str):
    assert PathPattern(pattern).match(CallPath("/b/" + "x" * 500), "/workspace") is NO
    assert PathPattern("/a/[!b]*").match(CallPath("/a/cd"), "/workspace") is YES
