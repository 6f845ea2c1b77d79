"""Evaluation of past calls with changed rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app.core.redaction import MASK
from app.policy.evaluator import decide
from app.policy.facts import CallFacts
from app.policy.risk.model import Verdict
from app.policy.rules.effect import RuleProbe
from app.policy.rules.rule_set import RuleSet

MAX_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class PastCall:
    """Recorded call, with arguments as stored: secrets masked."""

    operation_id: str
    facts: CallFacts
    started_at: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the call as shown beside a rule."""
        facts = self.facts
        return {
            "operation_id": self.operation_id,
            "tool_name": facts.tool.name,
            "arguments": dict(facts.raw),
            "session_id": facts.session_id,
            "agent_id": facts.agent_id,
            "project_id": facts.project_id,
            "started_at": self.started_at,
            "masked": self.is_masked,
        }

    @property
    def is_masked(self) -> bool:
        return _holds_mask(self.facts.raw)


@dataclass(slots=True)
class Effect:
    """Verdicts of the same calls before and after, with the differences.

    Attributes:
        unknowable: calls whose masked arguments might make a difference.
    """

    judged: int = 0
    before: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    after: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    changes: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unknowable: int = 0
    matched: int = 0


def compare(
    calls: Iterable[PastCall],
    before: RuleSet,
    after: RuleSet,
    rule_id: str,
    now: float,
    probe: RuleProbe | None = None,
) -> Effect:
    """Evaluate each call with both rule sets. Grants are ignored: they came later or have ended.

    Args:
        probe: collects the calls that the rule matches and nearly matches.
    """
    effect = Effect()
    for call in calls:
        was = decide(call.facts, rules=before, now=now)
        would = decide(call.facts, rules=after, now=now)
        effect.judged += 1
        effect.before[was.verdict] += 1
        effect.after[would.verdict] += 1
        if probe is not None:
            probe.add(call, call.facts, was, would)
        effect.matched += rule_id in (*would.rule_ids, *would.covered_by)
        if call.is_masked and after.for_tool(call.facts.tool.name):
            effect.unknowable += 1
        if was.verdict is would.verdict:
            continue
        kind = f"{was.verdict.value}_to_{would.verdict.value}"
        effect.changes[kind] = effect.changes.get(kind, 0) + 1
        shown = effect.examples.setdefault(kind, [])
        if len(shown) < MAX_EXAMPLES:
            shown.append(
                {
                    "operation_id": call.operation_id,
                    "tool_name": call.facts.tool.name,
                    "arguments": dict(call.facts.raw),
                    "reason": would.reason,
                    "masked": call.is_masked,
                }
            )
    return effect


def _holds_mask(value: Any) -> bool:
    if isinstance(value, str):
        return MASK in value
    if isinstance(value, dict):
        return any(map(_holds_mask, value.values()))
    return isinstance(value, list) and any(map(_holds_mask, value))
