"""Effect of one rule on past calls: what it matches, what it nearly matches, and why it does not
change a verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.core.text import dump_json
from app.policy.decision import Decision
from app.policy.facts import CallFacts
from app.policy.risk.assess import assess_command
from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.definition import Conditions, RuleDefinition
from app.policy.rules.rule import Rule, build_rule

MAX_SHOWN = 20
MAX_MISSES = 10
_REST_OF_WORD = re.compile(r"[^\w.-]+")
_TOO_COMMON = frozenset({"", ".", "-", "true", "false"})

Match = Literal["no", "maybe", "yes"]
_MATCHES: tuple[Match, Match, Match] = ("no", "maybe", "yes")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Reason why a rule that matches a call does not change its verdict.

    Attributes:
        rule_id: the other rule, if one is the reason.
    """

    code: str
    rule_id: str | None = None


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Call that the rule does not match, and the conditions that it does not meet."""

    call: Any
    verdict: Verdict
    missed: tuple[str, ...]


@dataclass(slots=True)
class RuleReach:
    """Calls that a rule matches and nearly matches.

    Attributes:
        matches: up to `MAX_SHOWN` matched calls with both verdicts.
        obstacles: reasons why matched calls keep their verdict, with the number of calls.
    """

    matched: int = 0
    matches: list[tuple[Any, Decision, Decision]] = field(default_factory=list)
    misses: list[NearMiss] = field(default_factory=list)
    obstacles: Counter[Obstacle] = field(default_factory=Counter)


class RuleProbe:
    """Collects the reach of one rule, call by call.

    Args:
        rules: the other rules, by ID.
    """

    def __init__(
        self, rule: Rule, definition: RuleDefinition, rules: Mapping[str, Rule], now: float
    ) -> None:
        self._rule = rule
        self._now = now
        self._known = rules
        self._parts = _parts(definition)
        self._words = _words(definition.match.model_dump(mode="json", exclude_none=True))
        self._missed: list[tuple[tuple[int, float], NearMiss]] = []
        self._reach = RuleReach()

    def reach(self) -> RuleReach:
        """Return what has been collected; the nearest misses first."""
        self._missed.sort(key=lambda item: item[0])
        self._reach.misses = [miss for _, miss in self._missed[:MAX_MISSES]]
        return self._reach

    def add(self, call: Any, facts: CallFacts, before: Decision, after: Decision) -> None:
        """Take one call with its verdicts without and with the rule."""
        if not self._rule.concerns(facts.tool):
            return
        view = view_of(facts)
        if self._rule.in_force(facts, self._now) and rule_match(self._rule, view) != "no":
            self._reach.matched += 1
            if len(self._reach.matches) < MAX_SHOWN:
                self._reach.matches.append((call, before, after))
            if before.verdict is after.verdict:
                self._reach.obstacles.update(set(self._obstacles(before, after)))
            return
        self._miss(call, facts, view, before)

    def _miss(self, call: Any, facts: CallFacts, view: CallView, before: Decision) -> None:
        missed = tuple(
            name
            for name, part in self._parts
            if (not part.in_force(facts, self._now) or rule_match(part, view) == "no")
        )
        if not missed:
            return
        shared = len(self._words & _words(facts.raw))
        if not shared and len(missed) == len(self._parts):
            return
        likeness = shared / max(1, len(self._words))
        self._missed.append(((len(missed), -likeness), NearMiss(call, before.verdict, missed)))
        if len(self._missed) > 50 * MAX_MISSES:
            self._missed = sorted(self._missed, key=lambda item: item[0])[:MAX_MISSES]

    def _obstacles(self, before: Decision, after: Decision) -> Iterable[Obstacle]:
        """Yield why the verdict of a matched call stays."""
        if after.floor:
            yield Obstacle("floor")
        elif after.verdict is Verdict.DENY:
            yield from self._named("denied_already", before)
        elif self._rule.verdict is Verdict.ASK:
            yield from self._named("asked_already", before)
        elif self._rule.verdict is Verdict.ALLOW:
            yield from self._not_released(before, after)
        else:
            yield Obstacle("only_maybe")

    def _not_released(self, before: Decision, after: Decision) -> Iterable[Obstacle]:
        """Yield why an allow rule does not answer the question of a call."""
        if before.verdict is Verdict.ALLOW:
            others = [name for name in before.covered_by if name != self._rule.id]
            yield from (Obstacle("allowed_already", name) for name in others)
            if not others:
                yield Obstacle("runs_already")
            return
        asking = [code for code in after.rule_ids if code in self._known]
        yield from (Obstacle("rule_asks", name) for name in asking)
        if "rule_unresolved" in after.rule_ids:
            yield Obstacle("rule_unresolved")
        if "invalid_rule" in after.rule_ids:
            yield Obstacle("invalid_rule")
        if self._rule.id in after.covered_by:
            if "requires_confirmation" in after.rule_ids and not asking:
                yield Obstacle("setting_asks")
            return
        if after.opaque:
            yield Obstacle("opaque")
        elif any(found.segment is None for found in after.findings):
            yield Obstacle("outside_command")
        else:
            yield Obstacle("other_commands")

    def _named(self, code: str, decision: Decision) -> Iterable[Obstacle]:
        """Yield an obstacle per rule that gave the verdict, or one for the risk analysis."""
        names = [name for name in decision.rule_ids if name in self._known]
        yield from (Obstacle(code, name) for name in names)
        if not names:
            yield Obstacle(code)


def view_of(facts: CallFacts) -> CallView:
    """Return a call as rules see it."""
    report = None
    if facts.tool.shell is not None:
        report = assess_command(facts.command, shell=facts.tool.shell, cwd=facts.shell_cwd)
    return CallView(facts, report)


def rule_match(rule: Rule, view: CallView) -> Match:
    """Return whether a rule matches a call, or a command of it, by its kind of matching."""
    if rule.verdict is Verdict.ALLOW:
        covered = bool(rule.covers(view)) or (view.report is None and rule.allows(view))
        return "yes" if covered else "no"
    return _MATCHES[rule.match(view)[0]]


def _parts(definition: RuleDefinition) -> list[tuple[str, Rule]]:
    """Return one rule per condition, to find those that a call does not meet.

    Paths and addresses of an allow rule are matched alone, so they match like those of `ask`.
    """
    match = definition.match
    strict = {"decision": definition.decision}
    loose = {"decision": "ask", "justification": "-"}
    wanted: list[tuple[str, Conditions, Mapping[str, Any]]] = []
    for name in ("argv", "command", "fields", "paths", "urls"):
        value = getattr(match, name)
        if value is not None:
            kind = strict if name in ("argv", "command") else loose
            wanted.append((name, Conditions.model_construct(**{name: value}), kind))
    if definition.scope != "global":
        wanted.append(("scope", Conditions(), loose))
    return [
        (
            name,
            build_rule(
                name,
                definition.model_copy(
                    update={
                        **kind,
                        "match": conditions,
                        "expires_at": None,
                        "scope": definition.scope if name == "scope" else "global",
                    }
                ),
            ),
        )
        for name, conditions, kind in wanted
    ]


def _words(value: Any) -> frozenset[str]:
    """Return the words in the values of a JSON object, to compare a pattern with a call."""
    text = dump_json(list(_texts(value))).decode()
    return frozenset(_REST_OF_WORD.split(text.casefold())) - _TOO_COMMON


def _texts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield value
