"""Rows of tickets: opened within limits, changed by version, each change with its audit line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import Conflict, NotFound, RateLimited
from app.core.ids import new_id
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.domain.interactions import Addressee, Escalation, Severity, TicketStatus
from app.execution.call import CallState
from app.execution.interactions.rows import about_call
from app.governance.audit.log import AuditEntry, AuditLog

PER_SESSION, PER_USER, WITHIN = 20, 60, timedelta(hours=1)
_COLUMNS = (
    "id, session_id, run_id, tool_call_id, operation_id, agent_id, user_id, token_id,"
    " caller, reason, severity, context, addressee, blocking, status, answer, answered_by,"
    " created_at, expires_at, updated_at, version"
)
_SELECT = f"SELECT {_COLUMNS} FROM tickets"  # noqa: S608 - constants of this file
_ADD = (
    f"INSERT INTO tickets ({_COLUMNS}, reason_key)"  # noqa: S608 - constants of this file
    f" VALUES ({', '.join('?' * 22)})"
)
_CHANGE = (
    "UPDATE tickets SET status = ?, answer = ?, answered_by = ?, updated_at = ?,"
    " version = version + 1 WHERE id = ?"
)
_SAME = f"{_SELECT} WHERE session_id = ? AND COALESCE(run_id, '') = ? AND reason_key = ?"


@dataclass(frozen=True, slots=True)
class StoredTicket:
    """Row of a ticket."""

    id: str
    session_id: str
    run_id: str | None
    tool_call_id: str
    operation_id: str
    agent_id: str | None
    user_id: str | None
    token_id: str | None
    caller: str
    reason: str
    severity: Severity
    context: str
    to: Addressee
    blocking: bool
    status: TicketStatus
    answer: str | None
    answered_by: str | None
    created_at: str
    expires_at: float | None
    updated_at: str
    version: int

    def facts(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {"status": self.status, "answer": self.answer, "version": self.version}


@dataclass(frozen=True, slots=True)
class TicketFilter:
    """Filter for tickets; None matches all."""

    status: str | None = None
    severity: str | None = None
    to: str | None = None
    session_id: str | None = None
    agent_id: str | None = None


class TicketRows:
    """Store of ticket rows."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    async def open(
        self, call: CallState, wanted: Escalation, expires: float | None
    ) -> tuple[StoredTicket, bool]:
        """Return a new ticket or the run's existing one for the reason, and whether it is new.

        Raises:
            RateLimited: the session or its user has recently opened too many tickets.
        """
        context, moment = call.context, isoformat(self._clock.now())
        key = _reason_key(wanted.reason)
        made = StoredTicket(
            id=new_id("tkt"),
            session_id=context.session_id,
            run_id=context.run_id,
            tool_call_id=call.request.id,
            operation_id=call.operation_id,
            agent_id=context.agent_id,
            user_id=context.user_id,
            token_id=context.quota_subject.token_id,
            caller=context.caller,
            reason=wanted.reason,
            severity=wanted.severity,
            context=wanted.context,
            to=wanted.to,
            blocking=wanted.blocking,
            status="open",
            answer=None,
            answered_by=None,
            created_at=moment,
            expires_at=expires,
            updated_at=moment,
            version=1,
        )

        def add(transaction: Transaction) -> tuple[StoredTicket, bool]:
            same = transaction.fetch(_SAME, (context.session_id, context.run_id or "", key))
            if same:
                return _stored(same[0]), False
            self._check_rate(transaction, made)
            transaction.execute(_ADD, (*_values(made), key))
            self._audit.within(
                transaction,
                AuditEntry(
                    "ticket.opened",
                    actor=context.user_id or "system",
                    subject=made.id,
                    **about_call(call),
                    detail={"reason": wanted.reason, "severity": wanted.severity, "to": wanted.to},
                ),
            )
            return made, True

        return await self._db.transact(add)

    async def get(self, ticket_id: str) -> StoredTicket:
        """Return a ticket.

        Raises:
            NotFound: the ticket does not exist.
        """
        return await self._db.transact(lambda transaction: _one(transaction, ticket_id))

    async def page(
        self, wanted: TicketFilter, *, limit: int, before: str | None
    ) -> list[StoredTicket]:
        """Return a page, newest first. `before` is the last ID of the previous page."""
        columns = {
            "status": wanted.status,
            "severity": wanted.severity,
            "addressee": wanted.to,
            "session_id": wanted.session_id,
            "agent_id": wanted.agent_id,
        }
        given = {name: value for name, value in columns.items() if value is not None}
        terms = [f"{name} = ?" for name in given]
        values: list[Any] = list(given.values())
        if before is not None:
            terms.append("(created_at, id) < (SELECT created_at, id FROM tickets WHERE id = ?)")
            values.append(before)
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        sql = f"{_SELECT}{where} ORDER BY created_at DESC, id DESC LIMIT ?"
        rows = await self._db.transact(lambda t: t.fetch(sql, (*values, limit)))
        return [_stored(row) for row in rows]

    async def resolve(
        self,
        ticket_id: str,
        status: TicketStatus,
        answer: str | None,
        *,
        actor: str,
        expected: int | None,
    ) -> StoredTicket:
        """Answer or close an open ticket; return its new state.

        Raises:
            NotFound: the ticket does not exist.
            VersionMismatch: it has changed since it was read.
            Conflict: it is no longer open.
        """
        moment = isoformat(self._clock.now())

        def change(transaction: Transaction) -> StoredTicket:
            before = _one(transaction, ticket_id)
            check_version(expected, before.version)
            if before.status != "open":
                raise Conflict(
                    f"The ticket was {before.status} by {before.answered_by}", ticket_id=ticket_id
                )
            transaction.execute(_CHANGE, (status, answer, actor, moment, ticket_id))
            after = _one(transaction, ticket_id)
            self._audit.within(
                transaction,
                AuditEntry(
                    f"ticket.{status}",
                    actor=actor,
                    subject=ticket_id,
                    before=before.facts(),
                    after=after.facts(),
                    session_id=before.session_id,
                    run_id=before.run_id,
                    agent_id=before.agent_id,
                    operation_id=before.operation_id,
                ),
            )
            return after

        return await self._db.transact(change)

    def _check_rate(self, transaction: Transaction, made: StoredTicket) -> None:
        since = isoformat(self._clock.now() - WITHIN)
        bounds: Mapping[str, tuple[str | None, int]] = {
            "session_id": (made.session_id, PER_SESSION),
            "user_id": (made.user_id, PER_USER),
        }
        for column, (value, most) in bounds.items():
            sql = f"SELECT count(*) FROM tickets WHERE {column} = ? AND created_at >= ?"  # noqa: S608
            if value is not None and transaction.fetch(sql, (value, since))[0][0] >= most:
                raise RateLimited(
                    f"The limit of {most} tickets per hour is reached; continue without a ticket"
                )


def _one(transaction: Transaction, ticket_id: str) -> StoredTicket:
    found = transaction.fetch(f"{_SELECT} WHERE id = ?", (ticket_id,))
    if not found:
        raise NotFound(f"Ticket {ticket_id!r} not found", ticket_id=ticket_id)
    return _stored(found[0])


def _stored(row: tuple[Any, ...]) -> StoredTicket:
    values: Any = (*row[:13], bool(row[13]), *row[14:])
    return StoredTicket(*values)


def _values(ticket: StoredTicket) -> tuple[Any, ...]:
    return tuple(getattr(ticket, name) for name in StoredTicket.__slots__)


def _reason_key(reason: str) -> str:
    """Return a key that ignores case and whitespace."""
    return sha256(" ".join(reason.casefold().split()).encode()).hexdigest()
