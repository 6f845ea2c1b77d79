"""Confirmation fatigue: statistics, and proposals to avoid confirmations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PROPOSE_AFTER = 20
PROPOSE_ABOVE = 0.95
MAX_PATTERNS = 5
_NEVER = frozenset({"service_access", "rule_unresolved", "invalid_rule"})


@dataclass(frozen=True, slots=True)
class AskedBefore:
    """Recorded confirmation. `argv`: the words of a single command."""

    tool_name: str
    codes: tuple[str, ...]
    outcome: str
    argv: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Fatigue:
    """Confirmations per 100 calls, and each reason, most frequent first."""

    calls: int
    prompts: int
    prompts_per_100_calls: float
    codes: tuple[CodeFigures, ...] = field(default=())


def figures(asked: Iterable[AskedBefore], calls: int) -> Fatigue:
    """Compute the statistics of a period."""
    known = list(asked)
    by_code: defaultdict[str, list[AskedBefore]] = defaultdict(list)
    for item in known:
        for code in dict.fromkeys(item.codes):
            by_code[code].append(item)
    codes = sorted((_code(*entry) for entry in by_code.items()), key=lambda c: (-c.asked, c.code))
    rate = round(100 * len(known) / calls, 2) if calls else 0.0
    return Fatigue(calls, len(known), rate, tuple(codes))


def _code(code: str, items: list[AskedBefore]) -> CodeFigures:
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
