"""The rule for exactly one refused call, as an agent may request it."""

from __future__ import annotations

from dataclasses import replace

from app.core.errors import InvalidInput
from app.policy.decision import Decision
from app.policy.evaluator import decide
from app.policy.grants import plain_list
from app.policy.proposals.bodies import Draft, arguments_body, command_body, paths_of
from app.policy.proposals.history import AnsweredCall
from app.policy.proposals.shapes import (
    ArgumentsShape,
    CommandShape,
    is_proposable,
    literal_words,
    shell_options,
)
from app.policy.risk.assess import assess_command
from app.policy.risk.model import RiskReport, Verdict


class NoSuchRule(InvalidInput):
    """No rule may allow such a call; the message says why."""

    code = "rule_not_possible"


def exact_draft(item: AnsweredCall, now: float) -> Draft:
    """Return the allow rule for exactly this call.

    Raises:
        NoSuchRule: no rule may allow it, or none that is no wider than the call.
    """
    facts = item.call.facts
    if item.call.is_masked:
        raise NoSuchRule("Its arguments contain a masked secret; no rule can name them")
    if not item.is_replayable:
        raise NoSuchRule("It depends on more than its arguments; no rule can name it exactly")
    # Without the rules of this installation: what a rule would have to answer.
    decision = decide(facts, now=now)
    if decision.verdict is Verdict.DENY:
        raise NoSuchRule("It is denied regardless of rules")
    if decision.verdict is Verdict.ASK and not is_proposable(decision):
        raise NoSuchRule(
            f"Its risk is {decision.risk}, or it runs code that cannot be read beforehand; "
            "a person must approve each such call"
        )
    if facts.tool.shell is not None:
        draft = _of_command(item, decision, now)
    elif facts.tool.parameters.get("additionalProperties") is False:
        draft = arguments_body([ArgumentsShape(item, facts.values)], {}, now)
    else:
        draft = None
    if draft is None:
        raise NoSuchRule("No rule can be as narrow as this call")
    why = f"Requested by the agent {item.agent} after the call was {item.ending}."
    return replace(
        draft,
        body={**draft.body, "justification": why},
        why=why,
        asked_for=item.operation_id,
    )


def _of_command(item: AnsweredCall, decision: Decision, now: float) -> Draft | None:
    facts = item.call.facts
    if facts.tool.shell != "bash":
        return None
    report = assess_command(facts.command, shell=facts.tool.shell, cwd=facts.shell_cwd)
    at = _only_one(report, decision)
    if at is None or not plain_list(facts.command, report.segments):
        raise NoSuchRule("It runs several commands or uses the shell; request a rule for each")
    segment = report.segments[at]
    words = literal_words(segment)
    if words is None or segment.cwd is None:
        return None
    options = shell_options(facts.values, facts.tool.command_argument)
    shape = CommandShape(item, words, segment.cwd, facts.cwd, options)
    paths = None if facts.cwd == "/" else paths_of([shape], segment.cwd)
    return None if paths is None else command_body([shape], words, paths, now)


def _only_one(report: RiskReport, decision: Decision) -> int | None:
    """Return the index of the one command that a rule would have to name."""
    places = {finding.segment for finding in decision.findings}
    if not places:
        places = set(range(len(report.segments)))
    return next(iter(places)) if len(places) == 1 else None
