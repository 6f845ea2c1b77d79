"""What the result of a refused call says about requesting a rule."""

from __future__ import annotations

from app.domain.rule_requests import REQUEST_RULE
from app.execution.call import CallState, Refusal
from app.policy.proposals.shapes import RISKS, is_proposable
from app.policy.risk.model import Verdict
from app.resolver.resolver import Resolver

HINT = (
    "To request a rule for exactly this call, which an administrator decides later, use "
    '{tool} with tool_call_id "{call_id}".'
)


class RuleHint:
    """Names the tool `request_rule` where a rule may help, and the agent has that tool."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def of(self, call: CallState, refusal: Refusal) -> str:
        """Return a sentence for the model; empty where no rule can allow the call."""
        context = call.context
        if not context.is_agents or context.subagent is not None or not _may_help(call, refusal):
            return ""
        if REQUEST_RULE not in self._resolver.resolve(context.agent_id).tool_names:
            return ""
        return HINT.format(tool=REQUEST_RULE, call_id=call.request.id)


def _may_help(call: CallState, refusal: Refusal) -> bool:
    decision = call.decision
    if decision is None:
        return False
    if refusal.code == "declined":
        return is_proposable(decision)
    by_rule = refusal.status == "denied" and decision.verdict is Verdict.DENY
    return by_rule and not decision.floor and not decision.opaque and decision.risk in RISKS
