"""Rows of confirmations: every state change is one compare-and-set, with its audit line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import Conflict
from app.core.text import dump_json
from app.db.statements import (
    ADD_CONFIRMATION,
    CANCEL_CONFIRMATION,
    FORGET_EDITED,
    START_CALL,
    VOID_CONFIRMATION,
)
from app.db.writer import DatabaseWriter, Row, Transaction
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.pending_confirmations import (
    ConfirmationRequest,
    PendingConfirmation,
)
from app.governance.audit.log import AuditEntry, AuditLog

Write = Callable[[Transaction], bool]

_CLAIM = (
    "UPDATE confirmations SET status = ?, option_id = ?, answered_by = ?, message = ?,"
    " edited_args = ?, answered_at = ?, call = CASE WHEN ? = 'approved' THEN call ELSE '{}' END"
    " WHERE id = ? AND status = 'pending' AND digest = ?"
    " AND (expires_at IS NULL OR expires_at > ?)"
)
_EXPIRE = (
    "UPDATE confirmations SET status = 'expired', call = '{}', answered_at = ?"
    " WHERE id = ? AND status = 'pending'"
)
_CONSUME = (
    f"UPDATE confirmations SET consumed_at = ?, call = '{{}}', {FORGET_EDITED}"  # noqa: S608
    " WHERE id = ? AND status = 'approved' AND consumed_at IS NULL"
)
_READ = "SELECT status, digest, answered_by, expires_at, session_id FROM confirmations WHERE id = ?"


class ConfirmationRows:
    """Writer of confirmation rows; `ConfirmationService` is the counterpart on the loop."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    def add(
        self,
        confirmation_id: str,
        session_id: str,
        question: ConfirmationRequest,
        request: Mapping[str, Any],
        expires: float | None,
    ) -> None:
        """Queue the row and its audit line, to be committed with the following event."""
        ids = question.ids
        requester = question.fields["requested_by"].get("user_id")
        self._audit.record(
            AuditEntry(
                "confirmation.asked",
                actor=str(requester or "system"),
                subject=confirmation_id,
                **_about(session_id, question),
                verdict="ask",
                detail=_asked(question),
            )
        )
        row = (
            *(confirmation_id, session_id, ids.get("run_id")),
            *(ids["tool_call_id"], ids["operation_id"], ids.get("agent_id")),
            *(question.tool_name, question.digest, "pending"),
            *(dump_json(request).decode(), dump_json(question.call).decode()),
            *(isoformat(self._clock.now()), expires),
        )
        self._db.append(ADD_CONFIRMATION, row)

    def answered(
        self, confirmation_id: str, pending: PendingConfirmation, answer: ConfirmationResolution
    ) -> Write:
        """Return the statement that stores an answer; False if the answer is too late."""
        now = self._clock.now()
        question = pending.question
        edited = None if answer.edited_args is None else dump_json(answer.edited_args).decode()
        row = (
            *(answer.outcome, answer.option_id, answer.by, answer.message, edited),
            *(isoformat(now), answer.outcome),
            *(confirmation_id, question.digest, now.timestamp()),
        )

        def write(transaction: Transaction) -> bool:
            if not transaction.execute(_CLAIM, row):
                return False
            self._audit.within(
                transaction,
                AuditEntry(
                    "confirmation.answered",
                    actor=answer.by or "system",
                    subject=confirmation_id,
                    **_about(pending.log.session_id, question),
                    outcome=answer.outcome,
                    detail=_resolution_data(answer),
                    edited_args=answer.edited_args,
                ),
            )
            return True

        return write

    def read(self, transaction: Transaction, confirmation_id: str) -> tuple[Any, ...] | None:
        """Return status, digest, approver, expiry and session."""
        found = transaction.fetch(_READ, (confirmation_id,))
        return found[0] if found else None

    async def expire(self, confirmation_id: str, pending: PendingConfirmation) -> bool:
        """End an unanswered confirmation; an answer already in the database wins."""
        moment = isoformat(self._clock.now())

        def end(transaction: Transaction) -> bool:
            if not transaction.execute(_EXPIRE, (moment, confirmation_id)):
                return False
            self._audit.within(
                transaction,
                AuditEntry(
                    "confirmation.answered",
                    actor="system",
                    subject=confirmation_id,
                    **_about(pending.log.session_id, pending.question),
                    outcome="expired",
                ),
            )
            return True

        return await self._db.transact(end)

    def cancel(self, confirmation_id: str, pending: PendingConfirmation | None) -> None:
        """End the confirmation of a call that will not run, regardless of answers."""
        moment = isoformat(self._clock.now())
        self._db.append(CANCEL_CONFIRMATION, (moment, confirmation_id))
        if pending is not None:
            self._audit.record(
                AuditEntry(
                    "confirmation.answered",
                    actor="system",
                    subject=confirmation_id,
                    **_about(pending.log.session_id, pending.question),
                    outcome="cancelled",
                )
            )

    async def consume(self, confirmation_id: str, call_row: Row) -> bool:
        """Consume an approval and claim its call in one transaction; False if either is no longer
        available.
        """
        moment = isoformat(self._clock.now())

        def claim(transaction: Transaction) -> bool:
            if not transaction.execute(_CONSUME, (moment, confirmation_id)):
                return False
            if not transaction.execute(START_CALL.sql, call_row):
                raise Conflict("The call was taken up already", confirmation_id=confirmation_id)
            return True

        try:
            return await self._db.transact(claim)
        except Conflict:
            return False

    def void(self, confirmation_id: str) -> None:
        """Void an unused approval because its call has changed."""
        moment = isoformat(self._clock.now())
        self._db.append(VOID_CONFIRMATION, (moment, confirmation_id))


def _about(session_id: str, question: ConfirmationRequest) -> dict[str, Any]:
    ids = question.ids
    return {
        "session_id": session_id,
        "run_id": ids.get("run_id"),
        "agent_id": ids.get("agent_id"),
        "tool_name": question.tool_name,
        "operation_id": ids["operation_id"],
    }


def _asked(question: ConfirmationRequest) -> dict[str, Any]:
    fields = question.fields
    listed = {name: fields.get(name) for name in ("target_list", "asked_again")}
    data = {"digest": question.digest, "risk": fields["risk"]}
    return data | {name: value for name, value in listed.items() if value is not None}


def _resolution_data(answer: ConfirmationResolution) -> dict[str, Any]:
    data = {
        "option_id": answer.option_id,
        "message": answer.message,
        "grant_id": answer.grant_id,
    }
    return {key: value for key, value in data.items() if value is not None}
