"""Shapes of calls that were answered: the words of a command, or the arguments of a tool."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.policy.decision import Decision
from app.policy.grants import may_last, may_release, plain_list
from app.policy.proposals.history import AnsweredCall
from app.policy.risk.model import Segment, Verdict
from app.policy.rules.globs import GLOBBED
from app.policy.rules.words import REST

RISKS = frozenset({"low", "medium"})
# Code that comes from elsewhere cannot be read beforehand, and a secret that is shown once too
# often cannot be taken back.
_NEVER = frozenset({"foreign_package", "secret_committed", "secret_read", "secret_sent"})
_UNBOUND = frozenset({"working_dir", "timeout"})
MAX_WORDS = 40


@dataclass(frozen=True, slots=True)
class CommandShape:
    """One command that asked, in a call that a person answered.

    Attributes:
        base: working directory of the command, absolute.
        root: root of the project.
        options: further arguments of the shell tool, such as `background`, as canonical JSON.
    """

    source: AnsweredCall
    argv: tuple[str, ...]
    base: str
    root: str
    options: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return tool, agent, project and root: what a rule is bound to."""
        facts = self.source.call.facts
        return facts.tool.name, self.source.agent, self.source.project_id or "", self.root


@dataclass(frozen=True, slots=True)
class ArgumentsShape:
    """Arguments of a tool other than a shell, in a call that a person answered."""

    source: AnsweredCall
    values: Mapping[str, Any]

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return tool, agent, project and root."""
        facts = self.source.call.facts
        return facts.tool.name, self.source.agent, self.source.project_id or "", facts.cwd


CallShape = CommandShape | ArgumentsShape


def is_proposable(decision: Decision) -> bool:
    """Return whether a proposed rule may answer this: no floor, no unread code, no high risk."""
    return (
        decision.verdict is Verdict.ASK
        and decision.risk in RISKS
        and _NEVER.isdisjoint(decision.rule_ids)
        and may_release(decision)
        and not decision.judged
        and (not decision.segments or may_last(decision))
    )


def shapes_of(item: AnsweredCall, decision: Decision) -> tuple[CallShape, ...]:
    """Return the shapes that an allow rule would have to cover; none if no rule can.

    A rule answers neither the operator, nor the agent's profile, nor another rule.
    """
    facts = item.call.facts
    if not item.is_replayable or not is_proposable(decision):
        return ()
    flagged = facts.asks and facts.asks_by == "tool"
    if decision.asks and not flagged:
        return ()
    if facts.tool.shell is None:
        values = facts.values
        closed = facts.tool.parameters.get("additionalProperties") is False
        return (ArgumentsShape(item, values),) if closed and not facts.tool.edits_files else ()
    return tuple(_commands(item, decision))


def _commands(item: AnsweredCall, decision: Decision) -> Iterator[CommandShape]:
    facts = item.call.facts
    listed = plain_list(facts.command, decision.segments)
    places = {finding.segment for finding in decision.findings}
    if not listed or None in places or facts.tool.shell != "bash":
        return
    options = shell_options(facts.values, facts.tool.command_argument)
    for at in sorted(place for place in places if place is not None) or range(len(listed)):
        words = literal_words(listed[at])
        if words is None:
            return
        yield CommandShape(item, words, listed[at].cwd or "", facts.cwd, options)


def shell_options(values: Mapping[str, Any], command_argument: str) -> str:
    """Return the arguments that change how a command runs, as canonical JSON."""
    rest = {k: v for k, v in values.items() if k != command_argument and k not in _UNBOUND}
    return orjson.dumps(rest, option=orjson.OPT_SORT_KEYS).decode()


def literal_words(segment: Segment) -> tuple[str, ...] | None:
    """Return the words if each stands for itself alone; None otherwise.

    A quoted `*` looks like one that the shell expands, so neither is generalised.
    """
    words = segment.argv
    if not words or len(words) > MAX_WORDS or segment.cwd is None:
        return None
    if any(word is None or not word or word == REST or GLOBBED.search(word) for word in words):
        return None
    plain = tuple(word for word in words if word is not None)
    return plain if all(map(_is_printable, plain)) else None


def _is_printable(word: str) -> bool:
    return len(word) <= 500 and not any(unicodedata.category(char)[0] == "C" for char in word)
