"""Proof of a proposed rule: the recorded calls and the risk corpus, decided with and without it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.policy.evaluator import decide
from app.policy.facts import CallFacts
from app.policy.proposals.bodies import Draft
from app.policy.proposals.corpus import Corpus, CorpusCase
from app.policy.proposals.history import DEFAULT_AGENT, AnsweredCall, History
from app.policy.risk.assess import assess_command
from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.compile import read_definition
from app.policy.rules.rule import Rule, build_rule
from app.policy.rules.rule_set import RuleSet
from app.toolkit.tool import Tool

PROPOSED = "proposed"
MAX_LISTED = 50
Place = tuple[str, str | None]
"""Root of a project, and agent."""

_ORDER = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
_REFUSED = frozenset({"declined", "denied"})
_ASKED = frozenset({"approved", "declined", "unanswered"})
# The only verdicts of the corpus that such a rule can change for the worse.
_WORSE_FROM = {"allow": Verdict.ASK, "deny": Verdict.ALLOW}


@dataclass(frozen=True, slots=True)
class ProofInputs:
    """What a proof stands on.

    Attributes:
        tools: the catalog's tools by name.
    """

    history: History
    corpus: Corpus
    tools: dict[str, Tool]
    _verdicts: dict[Hashable, Verdict] = field(default_factory=dict)

    def verdict_of(self, case: CorpusCase, tool: Tool, place: Place) -> Verdict:
        """Return the verdict on a case of the corpus with the present rules."""
        key = (case, tool.name, place)
        found = self._verdicts.get(key)
        if found is None:
            facts = case_facts(case, tool, *place)
            decided = decide(facts, rules=self.history.rules, now=self.history.now)
            found = self._verdicts[key] = decided.verdict
        return found


@dataclass(slots=True)
class Proof:
    """Difference that a rule makes.

    Attributes:
        judged: recorded calls that were decided twice; `matched` of them differ.
        not_judged: calls whose tool or arguments no longer fit.
        unknowable: calls of the rule's tools that prove nothing: masked arguments, or decided by
            more than their record says.
        questions: requests to people that would not have been sent.
        let_through: calls that would have run without a question, `let_through_total` in all.
        refused: calls that people declined or policy denied, and that would have run.
        declined_elsewhere: calls of the same words that people declined for other agents or in
            other projects.
        newly_denied, newly_denied_approved: calls that would have been denied, and those among
            them that a person approved.
        corpus_judged: cases of the risk corpus, all with the same verdict except `corpus_changed`.
        problems: why it does not hold, as sentences; empty where it holds.
    """

    judged: int = 0
    matched: int = 0
    not_judged: int = 0
    unknowable: int = 0
    questions: int = 0
    let_through_total: int = 0
    let_through: list[dict[str, Any]] = field(default_factory=list)
    refused_total: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    declined_elsewhere: int = 0
    newly_asked: int = 0
    newly_denied: int = 0
    newly_denied_approved: int = 0
    newly_denied_calls: list[dict[str, Any]] = field(default_factory=list)
    corpus_judged: int = 0
    corpus_changed_total: int = 0
    corpus_changed: list[dict[str, str]] = field(default_factory=list)
    overridden_by: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {name: getattr(self, name) for name in self.__slots__} | {"holds": self.holds}


def prove(draft: Draft, given: ProofInputs) -> Proof:
    """Decide every recorded call, and every case of the corpus, with and without the rule."""
    history = given.history
    change = _change(draft, given)
    proof = Proof(not_judged=history.not_judged)
    if change is None:
        proof.problems = ["the rule is no longer in force"]
        return proof
    for item, was in zip(history.calls, history.decisions, strict=True):
        facts = item.call.facts
        concerned = change.rule.concerns(facts.tool)
        if not item.is_replayable:
            proof.unknowable += concerned
            continue
        proof.judged += 1
        asked_for = item.operation_id == draft.asked_for
        silent = draft.kind == "allow" and was.verdict is not Verdict.ASK
        if not concerned or (silent and not asked_for):
            # An allow rule answers questions and nothing else.
            continue
        decision = decide(facts, rules=change.after, now=history.now)
        if asked_for and decision.verdict is not Verdict.ALLOW:
            proof.overridden_by = list(decision.rule_ids)
        if decision.verdict is not was.verdict:
            proof.matched += 1
            _note(proof, draft, item, was.verdict, decision.verdict)
    if draft.kind == "allow":
        proof.declined_elsewhere = _declined_elsewhere(draft, history, change.rule)
    _over_corpus(proof, draft, given, change)
    proof.problems = list(_problems(draft, proof))
    return proof


@dataclass(frozen=True, slots=True)
class _Change:
    """The rule that is added or removed, and the rules as they would be."""

    rule: Rule
    after: RuleSet


def _change(draft: Draft, given: ProofInputs) -> _Change | None:
    rules = given.history.rules
    kept = [known for known in rules.rules if known.id != draft.rule_id]
    if draft.kind != "remove":
        rule = proposed_rule(draft)
        return _Change(rule, RuleSet([*kept, rule], given.tools))
    removed = [known for known in rules.rules if known.id == draft.rule_id]
    return _Change(removed[0], RuleSet(kept, given.tools)) if removed else None


def proposed_rule(draft: Draft) -> Rule:
    """Compile the rule of a draft."""
    return build_rule(PROPOSED, read_definition(draft.body))


def _note(proof: Proof, draft: Draft, item: AnsweredCall, was: Verdict, would: Verdict) -> None:
    if would is Verdict.ALLOW:
        if item.ending in _REFUSED and item.operation_id != draft.asked_for:
            proof.refused_total += 1
            _list(proof.refused, item)
        proof.questions += was is Verdict.ASK and item.ending in _ASKED
        proof.let_through_total += 1
        _list(proof.let_through, item)
    elif would is Verdict.ASK:
        proof.newly_asked += was is Verdict.ALLOW
    else:
        proof.newly_denied += 1
        # A call that ran without a question was fine with everybody, as one that was approved.
        proof.newly_denied_approved += item.ending in ("approved", "unasked")
        _list(proof.newly_denied_calls, item)


def _declined_elsewhere(draft: Draft, history: History, rule: Rule) -> int:
    """Count what people declined for others, in the words that the rule would allow."""
    anywhere = replace(rule, scope="global", expires=None, paths=())
    found = 0
    for item in history.calls:
        facts = item.call.facts
        if item.ending != "declined" or item.operation_id == draft.asked_for:
            continue
        if not rule.concerns(facts.tool):
            continue
        report = None
        if facts.tool.shell is not None:
            report = assess_command(facts.command, shell=facts.tool.shell, cwd=facts.shell_cwd)
        view = CallView(facts, report)
        here = rule.in_force(facts, history.now) and _speaks(rule, view)
        found += not here and _speaks(anywhere, view)
    return found


def _speaks(rule: Rule, view: CallView) -> bool:
    return rule.allows(view) if view.report is None else bool(rule.covers(view))


def _list(listed: list[dict[str, Any]], item: AnsweredCall) -> None:
    if len(listed) < MAX_LISTED:
        listed.append(
            {
                "operation_id": item.operation_id,
                "tool_name": item.call.facts.tool.name,
                "arguments": dict(item.call.facts.raw),
                "agent_id": item.agent,
                "at": item.at,
                "ending": item.ending,
            }
        )


def _over_corpus(proof: Proof, draft: Draft, given: ProofInputs, change: _Change) -> None:
    """Decide the corpus where the evidence ran: in its project, as its agent."""
    place = _place(draft)
    # Without a rule that allows, nothing is let through that was not.
    tightens = draft.kind == "remove" and change.rule.verdict is Verdict.ALLOW
    for tool in given.tools.values():
        if tool.shell is None or not change.rule.concerns(tool):
            continue
        for case in given.corpus.of_shell(tool.shell):
            proof.corpus_judged += 1
            if tightens or not given.corpus.may_concern(case, change.rule):
                continue
            was = given.verdict_of(case, tool, place)
            if was is _WORSE_FROM.get(draft.kind, was):
                facts = case_facts(case, tool, *place)
                _judge_case(proof, draft, facts, was, change.after, given.history.now)


def _judge_case(
    proof: Proof, draft: Draft, facts: CallFacts, was: Verdict, after: RuleSet, now: float
) -> None:
    would = decide(facts, rules=after, now=now).verdict
    if would is was or not _is_wrong(draft, was, would):
        return
    proof.corpus_changed_total += 1
    if len(proof.corpus_changed) < MAX_LISTED:
        changed = {"command": facts.command, "before": was.value, "after": would.value}
        proof.corpus_changed.append(changed)


def case_facts(case: CorpusCase, tool: Tool, root: str, agent_id: str | None) -> CallFacts:
    """Return a case of the corpus as a call of the tool."""
    arguments = {tool.command_argument: case.command}
    return CallFacts(tool, _with_defaults(tool, arguments), arguments, cwd=root, agent_id=agent_id)


def _with_defaults(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the defaults that a rule may have conditions on."""
    properties = tool.parameters.get("properties") or {}
    defaults = {
        name: schema.get("default")
        for name, schema in properties.items()
        if isinstance(schema, dict) and name not in arguments
    }
    return {**defaults, **arguments}


def _place(draft: Draft) -> Place:
    """Return where the corpus is decided: where the evidence ran, or where the rule applies."""
    if draft.evidence:
        facts = draft.evidence[0].call.facts
        return facts.cwd, facts.agent_id
    scope = str(draft.body.get("scope", "global"))
    paths = (draft.body.get("match") or {}).get("paths") or ()
    folders = [path.removesuffix("/**") for path in paths if path.startswith("/")]
    return folders[0] if folders else "/workspace", _agent_in(scope)


def _agent_in(scope: str) -> str | None:
    agent = scope.removeprefix("agent:")
    return None if agent in (scope, DEFAULT_AGENT) else agent


def _is_wrong(draft: Draft, was: Verdict, would: Verdict) -> bool:
    """Return whether a changed verdict of the corpus speaks against the rule."""
    if draft.kind == "deny":
        return was is Verdict.ALLOW
    return _ORDER[would] < _ORDER[was]


def _problems(draft: Draft, proof: Proof) -> Iterator[str]:
    if proof.refused_total:
        yield (
            f"{proof.refused_total} calls that people declined or policy denied would have been "
            "let through"
        )
    if proof.declined_elsewhere:
        yield (
            f"{proof.declined_elsewhere} calls of the same words were declined for other agents "
            "or in other projects"
        )
    if proof.corpus_changed_total:
        yield f"{proof.corpus_changed_total} cases of the risk corpus would get another verdict"
    if draft.kind == "allow" and not proof.questions and draft.asked_for is None:
        yield "no question of the newest calls would have been saved"
    if draft.kind == "deny":
        if proof.newly_denied_approved:
            yield f"{proof.newly_denied_approved} calls that ran or were approved would be denied"
        if proof.newly_asked:
            yield f"{proof.newly_asked} further calls would require confirmation"
        if not proof.newly_denied:
            yield "no declined call would have been denied"
    if draft.kind == "remove" and proof.matched:
        yield f"{proof.matched} calls would be decided differently without the rule"


def first_that_hold(
    candidates: Iterable[Draft], given: ProofInputs, most: int
) -> Sequence[tuple[Draft, Proof]]:
    """Prove drafts in order; a draft whose evidence an earlier one has covers is left out."""
    held: list[tuple[Draft, Proof]] = []
    explained: set[tuple[str, str]] = set()
    for draft in candidates:
        if len(held) >= most:
            break
        named = {(draft.kind, item.operation_id) for item in draft.evidence}
        if draft.kind != "remove" and named <= explained:
            continue
        proof = prove(draft, given)
        if proof.holds:
            held.append((draft, proof))
            explained |= named
    return held
