"""Proposals the other way: deny what is always declined, remove rules that do nothing."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.errors import InvalidInput
from app.policy.proposals.bodies import MAX_EXAMPLES, Draft, checked_deny, literal
from app.policy.proposals.history import AnsweredCall, History
from app.policy.proposals.shapes import literal_words
from app.policy.risk.assess import assess_command
from app.policy.rules.compile import read_definition
from app.policy.rules.definition import RuleDefinition
from app.policy.rules.review import includes

MIN_DECLINES = 2
UNUSED_DAYS = 90


@dataclass(frozen=True, slots=True)
class KnownRule:
    """Stored rule that is in force.

    Attributes:
        used_at: its last match, or when it was created or last changed; RFC 3339.
    """

    id: str
    definition: RuleDefinition
    used_at: str
    is_removable: bool = True


def denials(history: History) -> list[Draft]:
    """Return deny rules for exactly the commands that people declined and never approved."""
    declined: defaultdict[tuple[str, tuple[str, ...]], list[AnsweredCall]] = defaultdict(list)
    approved: set[tuple[str, tuple[str, ...]]] = set()
    for item in history.calls:
        if item.ending not in ("approved", "declined") or not item.is_replayable:
            continue
        for words in _commands(item):
            key = (item.call.facts.tool.name, words)
            if item.ending == "approved":
                approved.add(key)
            elif item not in declined[key]:
                declined[key].append(item)
    found = [
        draft
        for (_, words), items in declined.items()
        if len(items) >= MIN_DECLINES
        and (items[0].call.facts.tool.name, words) not in approved
        and (draft := _denial(words, items)) is not None
    ]
    return sorted(found, key=lambda draft: (-len(draft.evidence), draft.key))


def _commands(item: AnsweredCall) -> Iterator[tuple[str, ...]]:
    """Yield the commands that a call asked about, as plain words."""
    facts = item.call.facts
    if facts.tool.shell != "bash":
        return
    report = assess_command(facts.command, shell=facts.tool.shell, cwd=facts.shell_cwd)
    asked = {finding.segment for finding in report.findings}
    if report.opaque or None in asked:
        return
    for at in sorted(place for place in asked if place is not None):
        words = literal_words(report.segments[at])
        if words is not None:
            yield words


def _denial(words: tuple[str, ...], items: Sequence[AnsweredCall]) -> Draft | None:
    people = Counter(item.answered_by or "unknown" for item in items)
    by = ", ".join(f"{person} ({count})" for person, count in sorted(people.items()))
    why = f"Declined {len(items)} times by {by} and never approved."
    agents = {item.agent for item in items}
    facts = items[0].call.facts
    body: dict[str, Any] = {
        "tool": facts.tool.name,
        "match": {"argv": [literal(word) for word in words]},
        "decision": "deny",
        "justification": f"{why} Do something else, or ask the user what they want instead.",
        "scope": f"agent:{agents.pop()}" if len(agents) == 1 else "global",
    }
    command = shlex.join(words)
    positive = list(dict.fromkeys([command, *(i.call.facts.command for i in items)]))
    try:
        definition = checked_deny(
            read_definition(body), facts.tool, positive[:MAX_EXAMPLES], [f"echo {command!r}"]
        )
    except InvalidInput:
        return None
    if definition is None:
        return None
    return Draft("deny", definition.to_json(), tuple(items), why)


def removals(rules: Iterable[KnownRule], now: float) -> list[Draft]:
    """Return stored rules that have not matched for 90 days, or that another rule implies."""
    known = {rule.id: rule for rule in rules}
    found = []
    gone: set[str] = set()
    # The newest first, so that of equal rules the oldest stays.
    for rule in reversed(known.values()):
        if not rule.is_removable:
            continue
        implied_by = _implying(rule, known, gone)
        days = _days_since(rule.used_at, now)
        if implied_by is not None:
            why = f"The rule {implied_by} says the same about everything that it matches."
        elif days >= UNUSED_DAYS:
            why = f"It has matched no call for {days} days."
        else:
            continue
        gone.add(rule.id)
        found.append(Draft("remove", rule.definition.to_json(), (), why, rule_id=rule.id))
    return found


def _implying(rule: KnownRule, known: Mapping[str, KnownRule], gone: set[str]) -> str | None:
    """Return a rule that stays and includes this one."""
    for other in known.values():
        if other.id == rule.id or other.id in gone:
            continue
        same = other.definition.decision == rule.definition.decision
        if same and includes(other.definition, rule.definition):
            return other.id
    return None


def _days_since(moment: str, now: float) -> int:
    return max(0, int((now - datetime.fromisoformat(moment).timestamp()) // 86_400))
