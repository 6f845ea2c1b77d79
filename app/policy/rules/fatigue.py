"""Confirmation fatigue: statistics, and proposals to avoid confirmations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

FAST_S = 2.0
"""An approval within this time can hardly have been read."""

DEFAULT_AGENT = "default"
PROPOSE_AFTER = 20
PROPOSE_ABOVE = 0.95
MAX_PATTERNS = 5
_NEVER = frozenset({"service_access", "rule_unresolved", "invalid_rule"})


@dataclass(frozen=True, slots=True)
class AskedBefore:
    """Recorded confirmation.

    Attributes:
        argv: the words of a single command.
        seconds: time until a person answered; None without an answer.
    """

    tool_name: str
    codes: tuple[str, ...]
    outcome: str
    argv: tuple[str, ...] = ()
    agent: str = DEFAULT_AGENT
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """How long people took to answer, in seconds; None without answers.

    Attributes:
        fast_share: share of the approvals that were given within `FAST_S`.
    """

    median_s: float | None = None
    p90_s: float | None = None
    fast_share: float | None = None

    @classmethod
    def of(cls, items: Iterable[AskedBefore]) -> AnswerTimes:
        answered = [item for item in items if item.seconds is not None]
        times = sorted(item.seconds for item in answered if item.seconds is not None)
        approved = [item.seconds for item in answered if item.outcome == "approved"]
        fast = sum(seconds is not None and seconds < FAST_S for seconds in approved)
        return cls(
            _quantile(times, 0.5),
            _quantile(times, 0.9),
            round(fast / len(approved), 3) if approved else None,
        )


@dataclass(frozen=True, slots=True)
class AgentPrompts:
    """Questions about the calls of one agent."""

    agent_id: str
    calls: int
    prompts: int
    prompts_per_100_calls: float
    times: AnswerTimes


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """Answers to one reason for asking."""

    code: str
    asked: int
    approved: int
    declined: int
    unanswered: int
    approve_rate: float
    proposals: tuple[dict[str, Any], ...] = ()
    prompts_per_100_calls: float = 0.0
    times: AnswerTimes = AnswerTimes()


@dataclass(frozen=True, slots=True)
class Fatigue:
    """Confirmations per 100 calls, and each reason, most frequent first."""

    calls: int
    prompts: int
    prompts_per_100_calls: float
    codes: tuple[CodeFigures, ...] = field(default=())
    agents: tuple[AgentPrompts, ...] = field(default=())
    times: AnswerTimes = AnswerTimes()


def figures(asked: Iterable[AskedBefore], calls: Mapping[str, int]) -> Fatigue:
    """Compute the statistics of a period.

    Args:
        calls: number of calls by agent.
    """
    known = list(asked)
    by_code: defaultdict[str, list[AskedBefore]] = defaultdict(list)
    for item in known:
        for code in dict.fromkeys(item.codes):
            by_code[code].append(item)
    total = sum(calls.values())
    found = (_code(code, items, total) for code, items in by_code.items())
    codes = sorted(found, key=lambda c: (-c.asked, c.code))
    by_agent: defaultdict[str, list[AskedBefore]] = defaultdict(list)
    for item in known:
        by_agent[item.agent].append(item)
    each = (_agent(name, by_agent[name], calls.get(name, 0)) for name in {*calls, *by_agent})
    agents = sorted(each, key=lambda a: (-a.prompts, a.agent_id))
    return Fatigue(
        total,
        len(known),
        _per_100(len(known), total),
        tuple(codes),
        tuple(agents),
        AnswerTimes.of(known),
    )


def _agent(agent_id: str, items: list[AskedBefore], calls: int) -> AgentPrompts:
    rate = _per_100(len(items), calls)
    return AgentPrompts(agent_id, calls, len(items), rate, AnswerTimes.of(items))


def _per_100(prompts: int, calls: int) -> float:
    return round(100 * prompts / calls, 2) if calls else 0.0


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share does not exceed."""
    if not ordered:
        return None
    return round(ordered[max(0, ceil(share * len(ordered)) - 1)], 3)


def _code(code: str, items: list[AskedBefore], calls: int) -> CodeFigures:
    approved = sum(item.outcome == "approved" for item in items)
    declined = sum(item.outcome == "declined" for item in items)
    answered = approved + declined
    rate = approved / answered if answered else 0.0
    tired = answered >= PROPOSE_AFTER and rate > PROPOSE_ABOVE and code not in _NEVER
    return CodeFigures(
        code,
        len(items),
        approved,
        declined,
        len(items) - answered,
        round(rate, 3),
        tuple(_proposals(code, items)) if tired else (),
        _per_100(len(items), calls),
        AnswerTimes.of(items),
    )


def _proposals(code: str, items: list[AskedBefore]) -> list[dict[str, Any]]:
    """Propose allow rules for commands approved most often and never declined.

    Exactly these commands: a person has not seen what a wider pattern would allow.
    """
    counts: defaultdict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
    refused = {(item.tool_name, item.argv) for item in items if item.outcome == "declined"}
    for item in items:
        key = (item.tool_name, item.argv)
        if item.argv and item.outcome == "approved" and key not in refused:
            counts[key] += 1
    often = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_PATTERNS]
    return [
        {
            "tool": tool,
            "match": {"argv": [_literal(word) for word in argv]},
            "decision": "allow",
            "justification": f"Approved {count} times ({code}), never declined",
        }
        for (tool, argv), count in often
        if count > 1
    ]


def _literal(word: str) -> str:
    """Return the word as a pattern that matches nothing else."""
    escaped = "".join(f"[{char}]" if char in "*?[" else char for char in word)
    return "[.].." if escaped == "..." else escaped
