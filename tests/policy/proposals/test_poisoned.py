"""A few approvals that differ never let more through than those that agree."""

from __future__ import annotations

import random

import pytest

from app.policy.evaluator import decide
from app.policy.proposals.generalise import drafts
from app.policy.proposals.history import AnsweredCall
from app.policy.risk.model import Verdict
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.rule_set import RuleSet
from tests.policy.proposals.recorded import NOW, TOOLS, call, inputs

AGREEING = [
    [f"rm tmp/{name}.log" for name in ("web", "db", "mail", "cron", "queue", "cache", "jobs")],
    [f"rm out/run-{number}.csv" for number in (3, 14, 15, 92, 65, 35, 89)],
    [f"git rm docs/old/{name}.md" for name in ("intro", "setup", "usage", "faq", "api", "news")],
    [f"curl -s -X DELETE http://localhost:8000/carts/{n}" for n in (1, 12, 33, 47, 58, 61)],
]
POISON = [
    *("rm src/app.py", "rm .env", "rm -f tmp/web.log", "rm tmp/sub/deep/x.log", "rm tmp/x.db"),
    *("rm run-9.csv", "rm out/final.csv", "rm out/run-9.json", "rm ../out/run-9.csv"),
    *("git rm src/app.py", "git rm docs/new/intro.md", "git rm docs/old/logo.svg"),
    "curl -s -X DELETE http://localhost:8000/users/1",
    "curl -s -X DELETE https://shop.example/carts/1",
    "curl -s -X DELETE http://localhost:9000/carts/1",
    *("cd web && rm tmp/web.log", "cd / && rm tmp/web.log", "rm /tmp/web.log"),
]


def calls_of(commands: list[str], chance: random.Random) -> list[AnsweredCall]:
    return [call(command, day=1 + at % 3) for at, command in enumerate(commands)] + [
        call(chance.choice(commands), day=2)
    ]


def allowed(calls: list[AnsweredCall]) -> set[str]:
    """The commands of the pool that run without a question once everything is accepted."""
    found = drafts(inputs(calls).history, NOW)
    rules = RuleSet(
        [
            compile_rule(f"r{at}", read_definition(draft.body), TOOLS)
            for at, draft in enumerate(found)
        ],
        TOOLS,
    )
    pool = [*POISON, *(command for group in AGREEING for command in group)]
    return {
        command
        for command in pool
        if decide(call(command).call.facts, rules=rules, now=NOW).verdict is Verdict.ALLOW
    }


@pytest.mark.parametrize("group", range(len(AGREEING)))
@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_odd_approvals_let_nothing_more_through(group: int, count: int) -> None:
    chance = random.Random(group * 10 + count)
    for _ in range(12):
        agreeing = calls_of(AGREEING[group], chance)
        odd = [call(command, day=2) for command in chance.sample(POISON, count)]

        before, after = allowed(agreeing), allowed([*agreeing, *odd])

        assert set(AGREEING[group]) <= before
        assert after <= before, [item.call.facts.command for item in odd]


def test_one_approval_ten_times_is_one_command_and_no_kind() -> None:
    calls = [call("rm src/app.py", day=1 + at % 3) for at in range(10)]

    (draft,) = drafts(inputs(calls).history, NOW)

    assert draft.body["match"]["argv"] == ["rm", "src/app.py"]


def test_people_are_counted_by_their_id() -> None:
    calls = [
        call("pkill -f vite", day=1 + at % 3, by=by) for at, by in enumerate(["ann", "bob"] * 3)
    ]

    (draft,) = drafts(inputs(calls).history, NOW)

    assert draft.why == "Approved 6 times on 3 days by ann (3), bob (3); never declined."
