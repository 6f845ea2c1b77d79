"""Tickets of agents for operators: opened by a call, answered by an administrator."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.clock import Clock, stamp
from app.core.errors import ToolFailed
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.domain.interactions import Escalation, TicketState, TicketStatus
from app.events.durable import TicketOpened, TicketResolved
from app.events.log import SessionLog
from app.execution.confirmation.step import ConfirmationStep
from app.execution.interactions.pending_inputs import (
    InputOwner,
    InputResult,
    PendingInput,
    PendingInputs,
)
from app.execution.interactions.questions import expires_at
from app.execution.interactions.ticket_rows import StoredTicket, TicketFilter, TicketRows
from app.governance.audit.log import AuditLog

AGENT = "agent:"
"""Prefix of the answering user's name if an agent answers."""

# Callers whose session has an agent to notify; for a sub-agent, its delegating agent.
_WITH_AGENT = ("agent", "subagent")


@dataclass(frozen=True, slots=True)
class ResolvedTicket:
    """Answered or closed ticket.

    Attributes:
        message: message for the session if no call waits for the answer.
    """

    ticket: StoredTicket
    message: str | None = None


class OperatorTickets:
    """Implements the service `TICKETS`, and takes operators' answers."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        redactor: Redactor,
        waiting: PendingInputs,
        confirmation_step: ConfirmationStep,
        *,
        ttl_s: float,
    ) -> None:
        self._clock = clock
        self._redactor = redactor
        self._waiting = waiting
        self._confirmation_step = confirmation_step
        self._rows = TicketRows(db, clock, audit)
        self._ttl_s = ttl_s
        waiting.own("ticket", InputOwner(self._leave, self._settle_expired))

    # -- for the opening call -------------------------------------------------------------

    async def escalate(
        self, wanted: Escalation, *, operation_id: str, timeout_s: float | None
    ) -> TicketState:
        """See the Protocol."""
        call = self._waiting.call(operation_id)
        wait = self._waiting.of(operation_id)
        if wait is not None:
            return await self._wait_again(wait)
        if wanted.blocking and call.context.caller == "cli":
            raise ToolFailed(
                "No operator can answer a call from this terminal; omit `blocking`, "
                "or call through the service",
                code="unattended",
            )
        expires = None
        if wanted.blocking:
            expires = expires_at(self._clock.time(), self._ttl_s, timeout_s)
            self._confirmation_step.keep(call)
        ticket, is_new = await self._rows.open(call, self._masked(wanted), expires)
        if not is_new:
            return TicketState(ticket.id, ticket.status, ticket.answer, is_duplicate=True)
        call.context.log.emit(
            TicketOpened,
            **call.head(),
            ticket_id=ticket.id,
            reason=ticket.reason,
            severity=ticket.severity,
            to=ticket.to,
            blocking=ticket.blocking,
            expires_at=stamp(expires) if expires else None,
        )
        if not wanted.blocking:
            return TicketState(ticket.id, ticket.status)
        return await self._wait(self._waiting.expect("ticket", ticket.id, call, {}), expires)

    async def _wait_again(self, wait: PendingInput) -> TicketState:
        """Continue a wait of a previous process."""
        ticket = await self._rows.get(wait.subject_id)
        if ticket.status != "open" and not wait.future.done():
            self._waiting.resolve(wait, InputResult(ticket.status, ticket.answer))
        return await self._wait(wait, ticket.expires_at)

    async def _wait(self, wait: PendingInput, expires: float | None) -> TicketState:
        ended = await self._waiting.wait(wait, expires)
        status: TicketStatus = "open"
        if ended.outcome in ("answered", "closed"):
            status = "answered" if ended.outcome == "answered" else "closed"
        return TicketState(wait.subject_id, status, ended.answer, timed_out=status == "open")

    def _masked(self, wanted: Escalation) -> Escalation:
        """Return the ticket with secrets masked, for operators."""
        return Escalation(
            self._redactor.text(wanted.reason),
            wanted.severity,
            self._redactor.text(wanted.context),
            wanted.to,
            wanted.blocking,
        )

    # -- for operators ----------------------------------------------------------------------

    async def get(self, ticket_id: str) -> StoredTicket:
        """Return a ticket.

        Raises:
            NotFound: the ticket does not exist.
        """
        return await self._rows.get(ticket_id)

    async def page(
        self, wanted: TicketFilter, *, limit: int, before: str | None
    ) -> list[StoredTicket]:
        """Return a page, newest first. `before` is the last ID of the previous page."""
        return await self._rows.page(wanted, limit=limit, before=before)

    async def resolve(
        self,
        ticket_id: str,
        status: TicketStatus,
        answer: str | None,
        *,
        actor: str,
        expected: int | None,
        log: SessionLog,
    ) -> ResolvedTicket:
        """Answer or close an open ticket.

        Args:
            log: open log of the ticket's session.

        Raises:
            NotFound: the ticket does not exist.
            VersionMismatch: it has changed since it was read.
            Conflict: it is no longer open.
        """
        after = await self._rows.resolve(ticket_id, status, answer, actor=actor, expected=expected)
        wait = self._waiting.about(ticket_id)
        shown = None if answer is None else self._redactor.text(answer)
        ids = {} if wait is None else wait.call.head()
        log.emit(TicketResolved, **ids, ticket_id=ticket_id, status=status, answer=shown, by=actor)
        if wait is not None:
            self._waiting.resolve(wait, InputResult(status, answer))
        is_heard = after.caller in _WITH_AGENT and status == "answered"
        return ResolvedTicket(after, _message(after) if is_heard and wait is None else None)

    # -- internal -------------------------------------------------------------------------

    def _leave(self, wait: PendingInput) -> None:
        """End the wait of an ended call; the ticket stays open and its answer becomes a message."""

    async def _settle_expired(self, wait: PendingInput) -> None:
        if self._waiting.about(wait.subject_id) is wait:
            self._waiting.resolve(wait, InputResult("expired"))


def _message(ticket: StoredTicket) -> str:
    whose = "a ticket of your sub-agent," if ticket.caller == "subagent" else "your ticket"
    asked = "It" if ticket.caller == "subagent" else "You"
    return (
        f"{_answerer(ticket)} has answered {whose} {ticket.id}.\n"
        f"{asked} asked: {ticket.reason}\nTheir answer: {ticket.answer}"
    )


def _answerer(ticket: StoredTicket) -> str:
    by = ticket.answered_by or ""
    return f"Your supervisor {by.removeprefix(AGENT)}" if by.startswith(AGENT) else "An operator"
