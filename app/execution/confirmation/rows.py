"""Rows of confirmations: every state change is one compare-and-set, with its audit line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import Conflict
from app.core.text import dump_json
from app.db.statements import (
    ADD_CONFIRMATION,
    ADD_CONFIRMATION_GROUP,
    CANCEL_CONFIRMATION,
    FORGET_EDITED,
    START_CALL,
    VOID_CONFIRMATION,
)
from app.db.writer import DatabaseWriter, Row, Transaction
from app.execution.confirmation.answers import ConfirmationResolution, VoteLost
from app.execution.confirmation.pending_confirmations import (
    ConfirmationRequest,
    PendingConfirmation,
)
from app.governance.approvals.approver import ApprovalTerms, user_key
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
# One row for each person, and only while the request is open.
_VOTE = (
    "INSERT INTO confirmation_votes (confirmation_id, person, user_id, digest, created_at)"
    " SELECT id, ?, ?, digest, ? FROM confirmations WHERE id = ? AND status = 'pending'"
    " AND digest = ? AND (expires_at IS NULL OR expires_at > ?) ON CONFLICT DO NOTHING"
)
_VOTES = (
    "SELECT user_id, person FROM confirmation_votes WHERE confirmation_id = ?"
    " ORDER BY created_at, rowid"
)
_NOTE_VOTES = "UPDATE confirmations SET request = ? WHERE id = ?"
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
        for step in question.case.terms.steps if question.case.terms else ():
            for group in step.groups:
                self._db.append(ADD_CONFIRMATION_GROUP, (confirmation_id, group, step.at))

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

    def voted(
        self,
        confirmation_id: str,
        pending: PendingConfirmation,
        terms: ApprovalTerms,
        answer: ConfirmationResolution,
    ) -> Callable[[Transaction], tuple[str, ...] | VoteLost]:
        """Return the statement that counts an approval, and approves the call with the last one.

        It returns who has approved so far, in order.
        """
        moment = self._clock.now()
        digest, by = pending.question.digest, answer.by or ""
        person = user_key(answer.on_behalf_of or by)
        row = (person, by, isoformat(moment), confirmation_id, digest, moment.timestamp())

        def write(transaction: Transaction) -> tuple[str, ...] | VoteLost:
            counted = transaction.execute(_VOTE, row)
            votes = transaction.fetch(_VOTES, (confirmation_id,))
            if not counted:
                found = self.read(transaction, confirmation_id) or ("cancelled", digest, None)
                is_open = found[0] == "pending"
                return VoteLost(is_open and any(person == vote[1] for vote in votes), found)
            names = tuple(str(vote[0]) for vote in votes)
            reported = replace(terms, approved_by=names).to_dict()
            request = dump_json({**pending.request, "approval": reported}).decode()
            transaction.execute(_NOTE_VOTES, (request, confirmation_id))
            if len(names) < terms.quorum:
                self._audit.within(
                    transaction,
                    AuditEntry(
                        "confirmation.vote",
                        actor=by,
                        subject=confirmation_id,
                        **_about(pending.log.session_id, pending.question),
                        outcome="approved",
                        detail=_vote_data(answer, len(names), terms.quorum),
                    ),
                )
            elif not self.answered(confirmation_id, pending, answer)(transaction):
                raise Conflict("The request has ended", confirmation_id=confirmation_id)
            return names

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
    listed = {name: fields.get(name) for name in ("target_list", "asked_again", "approval")}
    data = {"digest": question.digest, "risk": fields["risk"]}
    return data | {name: value for name, value in listed.items() if value is not None}


def _resolution_data(answer: ConfirmationResolution) -> dict[str, Any]:
    data = {
        "option_id": answer.option_id,
        "message": answer.message,
        "grant_id": answer.grant_id,
        "on_behalf_of": answer.on_behalf_of,
    }
    return {key: value for key, value in data.items() if value is not None}


def _vote_data(answer: ConfirmationResolution, approved: int, quorum: int) -> dict[str, Any]:
    data: dict[str, Any] = {"approved": approved, "quorum": quorum}
    if answer.on_behalf_of is not None:
        data["on_behalf_of"] = answer.on_behalf_of
    return data
