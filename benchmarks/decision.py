"""Cost of rules per call: `decide` with none, a hundred and a thousand of them."""

from __future__ import annotations

import time
from typing import Any

from app.policy.evaluator import decide, is_plain
from app.policy.facts import CallFacts
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.rule_set import RuleSet
from app.tools.data.calculator import calculator
from app.tools.shell.bash import bash
from benchmarks.harness import Benchmark, Compared, Result, Scale, interleave, run

CALLS = 4_000
SIZES = (0, 100, 1_000)
COMMANDS = (
    "ls -la src",
    "git status --short",
    "cd app && npm test -- --watch=false",
    "grep -rn 'def main' . | head -20",
    "python -m pytest -q tests/unit",
)


def rule_set_of(size: int) -> RuleSet:
    """Return typical rules of teams: most name a program, one in ten paths or fields."""
    tools = {"bash": bash}
    bodies = [_body(at) for at in range(size)]
    rules = [compile_rule(f"r{at}", read_definition(body)) for at, body in enumerate(bodies)]
    return RuleSet(rules, tools)


def _body(at: int) -> dict[str, Any]:
    verb = ("deny", "ask", "allow")[at % 3]
    match: dict[str, Any] = {"argv": [f"tool{at % 50}", f"verb{at}", "..."]}
    if at % 10 == 0:
        match = {"argv": ["git", f"verb{at}", "..."]}
    elif at % 20 == 5:
        match = {"paths": [f"secrets{at}/**"]}
    elif at % 20 == 15:
        match = {"fields": {"command": {"regex": f"word{at}$"}}}
    return {"tool": "bash", "match": match, "decision": verb, "justification": "because"}


def _facts() -> list[CallFacts]:
    raws = [{"command": command} for command in COMMANDS]
    return [CallFacts(bash, raw, raw) for raw in raws]


def _decided(rules: RuleSet, scale: Scale) -> dict[str, float]:
    calls = scale.count(CALLS)
    known = _facts()
    for facts in known:  # compile and fill the caches
        decide(facts, rules=rules)
    start = time.thread_time_ns()
    for at in range(calls):
        decide(known[at % len(known)], rules=rules)
    return {"cpu": (time.thread_time_ns() - start) / 1e3 / calls}


def _looked_up(rules: RuleSet, scale: Scale) -> dict[str, float]:
    calls = scale.count(CALLS * 10)
    start = time.thread_time_ns()
    for _ in range(calls):
        is_plain(calculator, rules, asks=False)
    return {"cpu": (time.thread_time_ns() - start) / 1e3 / calls}


async def _compare(scale: Scale, rules: RuleSet, *, concerned: bool) -> Compared:
    bare = RuleSet([], {"bash": bash})
    measure = _decided if concerned else _looked_up

    async def subject() -> dict[str, float]:
        return measure(rules, scale)

    async def floor() -> dict[str, float]:
        return measure(bare, scale)

    return await interleave(scale.rounds, subject, floor)


def _decisions(scale: Scale) -> list[Result]:
    rule_sets = {size: rule_set_of(size) for size in SIZES}
    results = [
        run(_compare(scale, rule_set, concerned=True)).result(
            f"decide_{size}_rules", "CPU us/call", "cpu"
        )
        for size, rule_set in rule_sets.items()
    ]
    unconcerned = run(_compare(scale, rule_sets[SIZES[-1]], concerned=False))
    return [*results, unconcerned.result("decide_unconcerned", "CPU us/call", "cpu")]


BENCHMARKS = (
    Benchmark(
        (*(f"decide_{size}_rules" for size in SIZES), "decide_unconcerned"),
        "the decision on everyday commands with rules about their tool, and on a call of a tool "
        "that a thousand rules do not name; floor: the same without rules",
        _decisions,
        {"decide_unconcerned": 1},
    ),
)
