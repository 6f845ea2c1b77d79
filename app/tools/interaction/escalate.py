"""`escalate`: passes a decision to someone with the authority or ability."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.domain.interactions import (
    ESCALATIONS,
    TICKETS,
    Addressee,
    Escalation,
    Escalations,
    Handover,
    Severity,
    SupervisorDecision,
    Tickets,
    TicketState,
)
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.interaction.returns import ESCALATE_RESULT

MAX_WAIT_S = 7 * 86_400.0


class EscalateArgs(ToolArgs):
    reason: str = Field(
        min_length=1, max_length=1000, pattern=r"\S", description="What must be decided, and why."
    )
    severity: Severity = Field(default="medium", description="Importance and urgency.")
    context: str = Field(default="", max_length=8000, description="Context needed to decide.")
    to: Addressee = Field(
        default="human",
        description="`supervisor_agent` decides and you receive its answer; `model_tier`: a "
        "stronger model continues this run for a while.",
    )
    blocking: bool = Field(default=False, description="Wait for an operator's answer.")
    as_ticket: bool = Field(
        default=False,
        description="Do not wait for `supervisor_agent`: its answer arrives as a message.",
    )

    @model_validator(mode="after")
    def _fits_the_addressee(self) -> Self:
        if self.blocking and self.to != "human":
            raise FieldError(
                "blocking is only valid for to='human'; omit it",
                code="only_with",
                given="blocking",
                needed="to='human'",
            )
        if self.as_ticket and self.to != "supervisor_agent":
            raise FieldError(
                "as_ticket is only valid for to='supervisor_agent'; omit it",
                code="only_with",
                given="as_ticket",
                needed="to='supervisor_agent'",
            )
        return self


@tool(
    category="interaction",
    toolset="interaction",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    routing_hint="main-process-proxy",
    timeout_s=MAX_WAIT_S,
    requires=(TICKETS,),
    tags=("interaction", "ticket", "operator", "supervisor"),
    return_schema=ESCALATE_RESULT,
)
async def escalate(args: EscalateArgs, ctx: ToolContext) -> ToolResult:
    """Escalate what you may not or cannot decide yourself, once per reason.

    A human gets a ticket; without `blocking` you continue immediately, and the answer arrives later
    as a message. Returns the addressee, and the ticket or answer if any.
    """
    wanted = Escalation(args.reason, args.severity, args.context, args.to, args.blocking)
    if args.to == "human":
        tickets = ctx.services.require(TICKETS, Tickets)  # type: ignore[type-abstract]
        state = await tickets.escalate(
            wanted, operation_id=ctx.operation_id, timeout_s=ctx.timeout_s
        )
        return _shown({"to": args.to, **_fields(state)}, _ticket_text(state, args))
    escalations = _escalations(ctx, args.to)
    if args.to == "model_tier":
        return _handed_over(await escalations.hand_over(wanted, ctx))
    return _decided(await escalations.decide(wanted, ctx, as_ticket=args.as_ticket), args)


def _escalations(ctx: ToolContext, to: Addressee) -> Escalations:
    found = ctx.services.get(ESCALATIONS)
    if not isinstance(found, Escalations):
        raise ToolFailed(
            f"{to!r} is not available without a running service; use to='human'",
            code="addressee_unavailable",
        )
    return found


def _decided(decision: SupervisorDecision, args: EscalateArgs) -> ToolResult:
    data: dict[str, Any] = {
        "to": args.to,
        "supervisor": decision.supervisor,
        "task_id": decision.task_id,
        "status": "answered",
        "answer": decision.answer,
    }
    if decision.ticket is None:
        return _shown(data, f"The supervisor {decision.supervisor} decided:\n{decision.answer}")
    return _shown({**data, **_fields(decision.ticket)}, _ticket_text(decision.ticket, args))


def _handed_over(handover: Handover) -> ToolResult:
    data: dict[str, Any] = {
        "to": "model_tier",
        "model": handover.model,
        "requests": handover.requests,
        "duplicate": handover.is_repeat,
    }
    often = "request" if handover.requests == 1 else f"{handover.requests} requests"
    return _shown(data, f"The next {often} of this run will be answered by {handover.model}")


def _fields(state: TicketState) -> dict[str, Any]:
    return {
        "ticket_id": state.ticket_id,
        "status": state.status,
        "answer": state.answer,
        "duplicate": state.is_duplicate,
        "timed_out": state.timed_out,
    }


def _shown(data: dict[str, Any], text: str) -> ToolResult:
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def _ticket_text(state: TicketState, args: EscalateArgs) -> str:
    head = f"Ticket {state.ticket_id}"
    if state.status == "answered":
        return f"{head} was answered:\n{state.answer}"
    if state.status == "closed":
        return f"{head} was closed without an answer; nothing was decided"
    if state.timed_out:
        return f"{head} is open; no operator answered in time. An answer will arrive as a message"
    if state.is_duplicate:
        return f"{head} is already open for this reason; an answer will arrive as a message"
    return f"{head} is open ({args.severity}); an answer will arrive as a message"
