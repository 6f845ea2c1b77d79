"""Requests of agents for rules, and their service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

RULE_REQUESTS = "rule_requests"
REQUEST_RULE = "request_rule"
"""Name of the tool, which results of refused calls mention."""


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """Request for a rule that allows one refused call.

    Attributes:
        call_id: the refused call, by the ID that the caller gave it.
        match: conditions that the caller expects; no wider than the call.
    """

    call_id: str
    reason: str
    match: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RuleRequestState:
    """Proposal that a request has led to.

    Attributes:
        covers: the call that the rule would allow, in one line.
        overridden_by: rules that would still refuse the call.
        is_duplicate: the same rule was already proposed.
    """

    proposal_id: str
    state: str
    covers: str
    overridden_by: tuple[str, ...] = ()
    is_duplicate: bool = False


@runtime_checkable
class RuleRequests(Protocol):
    """Service `RULE_REQUESTS`."""

    async def request(self, wanted: RuleRequest, ctx: ToolContext) -> RuleRequestState:
        """Prove and store a rule for exactly one refused call. It changes no decision.

        Raises:
            ToolFailed: `call_not_refused`: no refused call of this session has the ID;
                `wider_than_call`: `match` covers more than the call; `rule_not_possible`: no rule
                may allow such a call, or its proof does not hold.
            RateLimited: the session has requested too many rules.
        """
