"""`escalate`: bring something to somebody who may decide it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.interaction.ports import (
    TICKETS,
    Addressee,
    Escalation,
    Severity,
    Tickets,
    TicketState,
)

MAX_WAIT_S = 7 * 86_400.0


class EscalateArgs(ToolArgs):
    reason: str = Field(
        min_length=1, max_length=1000, pattern=r"\S", description="What must be decided, and why."
    )
    severity: Severity = Field(default="medium", description="How much it matters, and how soon.")
    context: str = Field(
        default="", max_length=8000, description="What an operator must know to decide."
    )
    to: Addressee = Field(default="human", description="Only `human` can be reached at present.")
    blocking: bool = Field(default=False, description="Wait for the operator's answer.")


@tool(
    category="interaction",
    toolset="interaction",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    routing_hint="main-process-proxy",
    timeout_s=MAX_WAIT_S,
    requires=(TICKETS,),
    tags=("interaction", "ticket", "operator"),
)
async def escalate(args: EscalateArgs, ctx: ToolContext) -> ToolResult:
    """Open a ticket for an operator, when you may not or cannot decide something yourself.

    One ticket per reason. Without `blocking` you go on at once, and an answer comes later as
    a message. Returns the ticket's id, its status, and the answer where there is one.
    """
    service = ctx.services.require(TICKETS, Tickets)  # type: ignore[type-abstract]
    wanted = Escalation(args.reason, args.severity, args.context, args.to, args.blocking)
    state = await service.escalate(wanted, operation_id=ctx.operation_id, timeout_s=ctx.timeout_s)
    data: dict[str, Any] = {
        "ticket_id": state.ticket_id,
        "status": state.status,
        "answer": state.answer,
        "duplicate": state.is_duplicate,
        "timed_out": state.timed_out,
    }
    return ToolResult.ok(data, text=_told(state, args), raw_result=RawResult("json", data))


def _told(state: TicketState, args: EscalateArgs) -> str:
    head = f"Ticket {state.ticket_id}"
    if state.status == "answered":
        return f"{head} was answered by an operator:\n{state.answer}"
    if state.status == "closed":
        return f"{head} was closed without an answer; nothing was decided"
    if state.timed_out:
        return f"{head} is open; no operator answered in time. An answer will come as a message"
    if state.is_duplicate:
        return f"{head} for this reason is open already; an answer will come as a message"
    return f"{head} is open ({args.severity}); an answer will come as a message"
