"""Tickets: questions of agents to operators, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.sessions import Session
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.principal import Principal
from app.api.questions import bring
from app.api.rest.admin.crud import Crud, versioned
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import VERSIONED
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.clock import stamp
from app.core.errors import Conflict, NotFound, TollgateError, Unauthenticated, VersionMismatch
from app.execution.interactions.ticket_rows import StoredTicket, TicketFilter
from app.execution.interactions.tickets import ResolvedTicket
from app.governance.limits import QuotaSubject

router = routes_of("admin", below="/admin")
tickets = Crud(router, "tickets", "ticket_id")

Status = Literal["open", "answered", "closed"]
Severity = Literal["low", "medium", "high"]
Addressee = Literal["human", "supervisor_agent", "model_tier"]
_TICKET: dict[str, Any] = {
    "id": "tkt_1",
    "status": "open",
    "severity": "high",
    "to": "human",
    "reason": "The invoice is higher than what was ordered",
    "context": "Order 17, invoice 20 % above it",
    "blocking": False,
    "session_id": "ses_1",
    "run_id": "run_1",
    "operation_id": "op_7f3a9c000001",
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}


class AdminTicket(BaseModel):
    """A question of an agent to an operator. The agent wrote its texts: do not trust them."""

    model_config = example(**_TICKET)

    id: str
    status: Status
    severity: Severity
    to: str
    reason: str
    context: str
    blocking: bool = Field(description="Whether the call waits for the answer, until `expires_at`.")
    session_id: str
    run_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    operation_id: str
    answer: str | None = None
    by: str | None = None
    expires_at: str | None = None
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, ticket: StoredTicket) -> Self:
        return cls(**_fields(ticket))


class TicketResolution(AdminTicket):
    """A ticket after it was answered or closed.

    `notified_run_id` is the run that notifies the session, when no call waited for the answer.
    """

    model_config = example(**{**_TICKET, "status": "answered", "answer": "Pay it", "by": "ann"})

    notified_run_id: str | None = None
    told_in_run: str | None = Field(
        default=None, deprecated=True, description="Deprecated name of `notified_run_id`."
    )
    not_told: str | None = Field(
        default=None, description="Reason why the session could not be notified of the answer."
    )


class TicketPage(BaseModel):
    """Tickets, newest first."""

    model_config = example(tickets=[_TICKET], next_before=None)

    tickets: list[AdminTicket]
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")


class TicketAnswer(Body):
    """Answer for the agent."""

    model_config = example(answer="Pay it, and tell purchasing")

    answer: str = Field(min_length=1, max_length=10_000, pattern=r"\S")


@router.get("/tickets", summary="List tickets", responses=problems())
async def list_tickets(
    service: ServiceDep,
    principal: Admin,
    status: Annotated[Status | None, Query(description="All statuses if omitted.")] = None,
    severity: Annotated[Severity | None, Query()] = None,
    to: Annotated[Addressee | None, Query()] = None,
    session_id: Annotated[str | None, Query(max_length=128)] = None,
    agent_id: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        str | None, Query(max_length=128, description="`next_before` of the previous page.")
    ] = None,
) -> TicketPage:
    """Scope `admin`. Newest first."""
    wanted = TicketFilter(status, severity, to, session_id, agent_id)
    found = await service.tickets.page(wanted, limit=limit, before=before)
    return TicketPage(
        tickets=[AdminTicket.of(ticket) for ticket in found],
        next_before=found[-1].id if len(found) == limit else None,
    )


@tickets.read("Get a ticket")
async def get_ticket(ticket_id: PathId, service: ServiceDep, principal: Admin) -> AdminTicket:
    """Scope `admin`."""
    return AdminTicket.of(await service.tickets.get(ticket_id))


@router.post(
    "/tickets/{ticket_id}/answer",
    summary="Answer a ticket",
    responses={**VERSIONED, **problems(NotFound, Conflict, VersionMismatch, body=True)},
)
@versioned
async def answer_ticket(
    ticket_id: PathId,
    body: TicketAnswer,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> TicketResolution:
    """Scope `admin`. The waiting call receives the answer; without one, it becomes a message."""
    return await _resolve(service, principal, ticket_id, "answered", body.answer, expected)


@router.post(
    "/tickets/{ticket_id}/close",
    summary="Close a ticket without an answer",
    responses={**VERSIONED, **problems(NotFound, Conflict, VersionMismatch)},
)
@versioned
async def close_ticket(
    ticket_id: PathId,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> TicketResolution:
    """Scope `admin`. A waiting call is notified that there is no decision."""
    return await _resolve(service, principal, ticket_id, "closed", None, expected)


async def _resolve(
    service: Service,
    principal: Principal,
    ticket_id: str,
    status: Literal["answered", "closed"],
    answer: str | None,
    expected: int | None,
) -> TicketResolution:
    ticket = await service.tickets.get(ticket_id)
    session = await service.sessions.get(ticket.session_id)
    if session is None:
        raise NotFound(f"The session of ticket {ticket_id!r} no longer exists", ticket_id=ticket_id)
    resolved = await service.tickets.resolve(
        ticket_id,
        status,
        answer,
        actor=principal.user_id,
        expected=expected,
        log=session.log,
    )
    delivered = await _tell(service, session, resolved)
    await service.db.flush()
    return TicketResolution(**_fields(resolved.ticket), **delivered)


async def _tell(service: Service, session: Session, resolved: ResolvedTicket) -> dict[str, Any]:
    """Send an answer that no call waits for as a message; the ticket stores it in any case."""
    if resolved.message is None:
        return {}
    try:
        quota_subject = await _quota_subject(service, session, resolved.ticket)
        delivered = await bring(service, session, resolved.message, quota_subject)
    except TollgateError as error:
        return {"not_told": error.message}
    return {"notified_run_id": delivered["run_id"], "told_in_run": delivered["run_id"]}


async def _quota_subject(service: Service, session: Session, ticket: StoredTicket) -> QuotaSubject:
    """Return the quota subject of the run: the user and token that opened the ticket.

    Raises:
        Unauthenticated: the token is no longer valid.
    """
    user_id = ticket.user_id or session.user_id
    if ticket.token_id is None:
        return QuotaSubject(user_id=user_id)
    try:
        token = await service.tokens.holder(ticket.token_id)
    except Unauthenticated:
        raise Unauthenticated("The token that opened the ticket is no longer valid") from None
    return QuotaSubject(token.id, token.limits, user_id)


def _fields(ticket: StoredTicket) -> dict[str, Any]:
    return {
        "id": ticket.id,
        "status": ticket.status,
        "severity": ticket.severity,
        "to": ticket.to,
        "reason": ticket.reason,
        "context": ticket.context,
        "blocking": ticket.blocking,
        "session_id": ticket.session_id,
        "run_id": ticket.run_id,
        "agent_id": ticket.agent_id,
        "user_id": ticket.user_id,
        "operation_id": ticket.operation_id,
        "answer": ticket.answer,
        "by": ticket.answered_by,
        "expires_at": stamp(ticket.expires_at) if ticket.expires_at else None,
        "version": ticket.version,
        "created_at": ticket.created_at,
        "updated_at": ticket.updated_at,
    }
