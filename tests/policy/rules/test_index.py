"""Rules that are looked up decide as rules that are all tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.evaluator import decide
from app.policy.risk.assess import assess_command
from app.policy.rules.call_view import CallView
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import RuleSet, ToolRules
from tests.policy.verdicts import TOOLS, Body, argv, deny, facts, rule_set

WORDS = ["git", "rm", "npm", "push", "status", "-f", "--force", "src", ".env", "a b", "$X", "*"]
PATHS = [".env", "src/**", "**/*.key", "/etc/**", "~/.ssh/**", "*", "a/../b"]
PLACES = [
    ".env",
    "src/x",
    "../out",
    "/etc/passwd",
    "~/.ssh/id",
    "$HOME/x",
    "k.key",
    "?.env",
    "~bob",
]
REGEXES = ["rm", "^git", "env$", "(?i)PUSH", "a|b", "", r"\Qa.b", "(?P<n>x)", "[0-9]+"]

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
patterns = st.one_of(
    words,
    words.map(lambda found: [*found, "..."]),
    st.tuples(st.just({"any_of": ["git", "rm"]}), words).map(lambda pair: [pair[0], *pair[1]]),
)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "argv": patterns,
        "paths": st.lists(st.sampled_from(PATHS), min_size=1, max_size=2),
        "urls": st.just([{"host": "example.com"}]),
        "fields": st.dictionaries(
            st.sampled_from(["command", "path", "url", "options.a", "options.b[*]"]),
            st.one_of(
                st.fixed_dictionaries({"regex": st.sampled_from(REGEXES)}),
                st.fixed_dictionaries({"exists": st.booleans()}),
            ),
            min_size=1,
            max_size=2,
        ),
    },
)
bodies = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["*", *TOOLS]),
        "decision": st.sampled_from(["allow", "ask", "deny"]),
        "justification": st.just("because"),
        "match": conditions,
    }
)
commands = st.lists(
    st.lists(st.sampled_from([*WORDS, *PLACES]), min_size=0, max_size=4).map(" ".join), max_size=3
).flatmap(
    lambda parts: st.sampled_from([" && ", "; ", " | ", " > "]).map(lambda glue: glue.join(parts))
)
calls = st.one_of(
    st.tuples(st.sampled_from(["bash", "pwsh"]), commands.map(lambda text: {"command": text})),
    st.tuples(
        st.just("write_file"),
        st.sampled_from(PLACES).map(lambda path: {"path": path, "content": "x"}),
    ),
    st.tuples(
        st.just("fetch"),
        st.fixed_dictionaries(
            {
                "url": st.sampled_from(["http://example.com/env", "rm", "\ud800 push"]),
                "options": st.sampled_from([{}, {"a": "rm"}, {"b": ["x", "env", 1]}, {"a": 1}]),
            }
        ),
    ),
)


class Tried(RuleSet):
    """Every rule about the tool is tried on every call."""

    def for_tool(self, name: str) -> ToolRules:
        class All(ToolRules):
            def about(self, view: CallView) -> Iterable[Rule]:
                return self.all

        return All(super().for_tool(name))


@given(bodies=st.lists(bodies, max_size=8), call=calls)
def test_the_rules_that_are_looked_up_decide_as_all_of_them(bodies: list[Body], call: Any):
    name, raw = call
    asked = facts(raw, name)
    looked_up = rule_set(*bodies)
    assert decide(asked, rules=looked_up) == decide(asked, rules=Tried(looked_up.rules, TOOLS))


def many(count: int) -> list[Body]:
    rules = [deny("because", **argv("git", f"verb{at}", "...")) for at in range(count)]
    rules += [deny("because", **argv(f"tool{at}")) for at in range(count)]
    rules += [deny("because", match={"paths": [f"secret{at}/**"]}) for at in range(count)]
    rules += [
        deny("because", match={"fields": {"command": {"regex": f"word{at}$"}}})
        for at in range(count)
    ]
    return rules


@pytest.mark.parametrize(
    ("command", "tried"),
    [
        ("git status", 0),
        ("git verb7 x && tool3", 2),
        ("cat secret5/key", 40),
        ("echo word5", 40),
        ("$PROGRAM", 1200),
    ],
)
def test_only_rules_that_may_speak_are_tried(command: str, tried: int):
    view = CallView(facts(command), assess_command(command, shell="bash"))
    assert len(list(rule_set(*many(300)).for_tool("bash").about(view))) == tried
