"""`request_rule`: proposes a rule for a refused call, for an administrator to decide."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.domain.rule_requests import RULE_REQUESTS, RuleRequest, RuleRequests
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.interaction.returns import REQUEST_RULE_RESULT


class RequestRuleArgs(ToolArgs):
    tool_call_id: str = Field(
        min_length=1, max_length=256, description="ID of the refused call, from its result."
    )
    reason: str = Field(
        min_length=1,
        max_length=1000,
        pattern=r"\S",
        description="Why such calls are needed, for the person who decides.",
    )
    match: dict[str, Any] | None = Field(
        default=None,
        description="Conditions of the rule, no wider than the call; default: exactly the call.",
    )


@tool(
    category="interaction",
    toolset="interaction",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    routing_hint="main-process-proxy",
    timeout_s=120,
    requires=(RULE_REQUESTS,),
    tags=("interaction", "rule", "approval"),
    return_schema=REQUEST_RULE_RESULT,
)
async def request_rule(args: RequestRuleArgs, ctx: ToolContext) -> ToolResult:
    """Request a rule that allows exactly one refused call from now on.

    An administrator decides later; until then the call stays refused, so continue without it.
    Returns the proposal.
    """
    service = ctx.services.require(RULE_REQUESTS, RuleRequests)  # type: ignore[type-abstract]
    state = await service.request(RuleRequest(args.tool_call_id, args.reason, args.match), ctx)
    data: dict[str, Any] = {
        "proposal_id": state.proposal_id,
        "state": state.state,
        "covers": state.covers,
        "overridden_by": list(state.overridden_by),
        "duplicate": state.is_duplicate,
    }
    known = "was already proposed" if state.is_duplicate else "is proposed"
    text = (
        f"A rule for {state.covers!r} {known} as {state.proposal_id}. "
        "An administrator decides later; until then the call stays refused"
    )
    if state.overridden_by:
        text += f". It also needs a change of {', '.join(state.overridden_by)}"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))
