"""Recorded calls in one line each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import orjson

from app.policy.facts import CallFacts
from app.policy.proposals.corpus import Corpus
from app.policy.proposals.history import AnsweredCall, Ending, History
from app.policy.proposals.proof import ProofInputs
from app.policy.rules.dry_run import PastCall
from app.policy.rules.rule import Rule
from app.policy.rules.rule_set import RuleSet
from app.toolkit.tool import Tool
from app.tools.files.write_file import write_file
from app.tools.shell.bash import bash
from app.tools.web.web_fetch import web_fetch

ROOT = "/srv/shop"
NOW = 1_795_000_000.0
TOOLS: dict[str, Tool] = {tool.name: tool for tool in (bash, write_file, web_fetch)}
NO_CASES = Corpus(())
_numbers = count(1)


def call(
    arguments: str | dict[str, Any],
    ending: Ending = "approved",
    *,
    day: int = 1,
    agent: str | None = "coder",
    by: str | None = "ann",
    project: str = "shop",
    root: str = ROOT,
    tool: Tool = bash,
    asks_by: str | None = None,
    evidence: bool = True,
) -> AnsweredCall:
    """Return one recorded call; a text is a command."""
    raw = {tool.command_argument: arguments} if isinstance(arguments, str) else arguments
    facts = CallFacts(
        tool,
        tool.validate(orjson.dumps(raw)),
        raw,
        cwd=root,
        agent_id=agent,
        asks=asks_by is not None,
        asks_by=asks_by,
    )
    number = next(_numbers)
    return AnsweredCall(
        PastCall(f"op_{number:06}", facts),
        ending,
        f"2026-11-{day:02}T10:00:{number % 60:02}Z",
        project,
        by if ending in ("approved", "declined") else None,
        is_evidence=evidence and ending == "approved",
    )


def history(calls: Iterable[AnsweredCall], rules: Iterable[Rule] = ()) -> History:
    """Return the calls as a history, newest last in the arguments."""
    ordered = sorted(calls, key=lambda item: item.at, reverse=True)
    return History(ordered, RuleSet(rules, TOOLS), NOW)


def inputs(
    calls: Iterable[AnsweredCall], rules: Iterable[Rule] = (), corpus: Corpus = NO_CASES
) -> ProofInputs:
    """Return what a proof is made of."""
    return ProofInputs(history(calls, rules), corpus, TOOLS)
