"""Rows of questions: every state change is one compare-and-set, with its audit line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from app.core.clock import Clock, isoformat
from app.core.text import dump_json
from app.db.question_statements import ADD_QUESTION, CANCEL_QUESTION
from app.db.writer import DatabaseWriter, Transaction
from app.execution.call import CallState
from app.governance.audit.log import AuditEntry, AuditLog

_COLUMNS = (
    "id, session_id, run_id, tool_call_id, operation_id, agent_id, caller, status, request,"
    " answer, answered_by, expires_at, told"
)
_READ = f"SELECT {_COLUMNS} FROM questions WHERE id = ?"  # noqa: S608 - constants of this file
_CLAIM = (
    "UPDATE questions SET status = ?, answer = ?, answered_by = ?, answered_at = ?"
    " WHERE id = ? AND status = 'open' AND (expires_at IS NULL OR expires_at > ?)"
)
_EXPIRE = (
    "UPDATE questions SET status = 'expired', answered_at = ? WHERE id = ? AND status = 'open'"
)
_LATE = (
    "UPDATE questions SET status = 'late', answer = ?, answered_by = ?, answered_at = ?"
    " WHERE id = ? AND status = ?"
)
_REOPEN = (
    "UPDATE questions SET status = ?, answer = NULL, answered_by = NULL"
    " WHERE id = ? AND status = 'late'"
)


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """Row of a question."""

    id: str
    session_id: str
    run_id: str | None
    tool_call_id: str
    operation_id: str
    agent_id: str | None
    caller: str
    status: str
    request: str
    answer: str | None
    answered_by: str | None
    expires_at: float | None
    reported: bool

    @property
    def questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = orjson.loads(self.request)["questions"]
        return found

    @property
    def responses(self) -> dict[str, Any]:
        """Answers by question."""
        return orjson.loads(self.answer) if self.answer else {}

    def head(self) -> dict[str, Any]:
        """Return the IDs in its events."""
        names = ("run_id", "agent_id", "tool_call_id", "operation_id")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class StoredReply:
    """Submitted answer: `responses` by question."""

    outcome: Literal["answered", "declined"]
    responses: Mapping[str, Any]
    by: str

    def stored(self) -> str:
        return dump_json(dict(self.responses)).decode()


class QuestionRows:
    """Store of question rows."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    def add(
        self, question_id: str, call: CallState, request: Mapping[str, Any], expires: float | None
    ) -> None:
        """Queue the row and its audit line, to be committed with the following event."""
        context = call.context
        self._audit.record(
            AuditEntry(
                "question.asked",
                actor=context.user_id or "system",
                subject=question_id,
                **about_call(call),
                detail={"questions": request["questions"]},
            )
        )
        row = (
            *(question_id, context.session_id, context.run_id, call.request.id),
            *(call.operation_id, context.agent_id, context.user_id, context.caller, "open"),
            *(dump_json(request).decode(), isoformat(self._clock.now()), expires),
        )
        self._db.append(ADD_QUESTION, row)

    async def read(self, question_id: str) -> StoredQuestion | None:
        return await self._db.transact(lambda transaction: _read(transaction, question_id))

    async def answer(self, stored: StoredQuestion, said: StoredReply) -> bool:
        """Store an answer; False if it is too late."""
        now = self._clock.now()
        row = (said.outcome, said.stored(), said.by, isoformat(now), stored.id, now.timestamp())

        def claim(transaction: Transaction) -> bool:
            if not transaction.execute(_CLAIM, row):
                return False
            self._note(transaction, stored, said.by, said.outcome, said.responses)
            return True

        return await self._db.transact(claim)

    async def answer_late(self, stored: StoredQuestion, said: StoredReply) -> bool:
        """Store an answer to an ended question; False if another answer was first."""
        moment = isoformat(self._clock.now())
        row = (said.stored(), said.by, moment, stored.id, stored.status)

        def claim(transaction: Transaction) -> bool:
            if not transaction.execute(_LATE, row):
                return False
            self._note(transaction, stored, said.by, "late", said.responses)
            return True

        return await self._db.transact(claim)

    async def has_begun(self, run_id: str) -> bool:
        """Return whether a run with this ID exists."""
        sql = "SELECT id FROM runs WHERE id = ?"
        return bool(await self._db.transact(lambda t: t.fetch(sql, (run_id,))))

    async def reopen(self, stored: StoredQuestion) -> None:
        """Withdraw a late answer that could not be delivered."""
        await self._db.transact(
            lambda transaction: transaction.execute(_REOPEN, (stored.status, stored.id))
        )

    async def expire(self, question_id: str) -> bool:
        """End an unanswered question; an answer already in the database wins."""
        moment = isoformat(self._clock.now())

        def end(transaction: Transaction) -> bool:
            if not transaction.execute(_EXPIRE, (moment, question_id)):
                return False
            stored = _read(transaction, question_id)
            if stored is not None:
                self._note(transaction, stored, "system", "expired", None)
            return True

        return await self._db.transact(end)

    def cancel(self, question_id: str, call: CallState) -> None:
        """End the question of an ended call."""
        self._db.append(CANCEL_QUESTION, (isoformat(self._clock.now()), question_id))
        self._audit.record(
            AuditEntry(
                "question.answered",
                actor="system",
                subject=question_id,
                **about_call(call),
                outcome="cancelled",
            )
        )

    def _note(
        self,
        transaction: Transaction,
        stored: StoredQuestion,
        actor: str,
        outcome: str,
        responses: Mapping[str, Any] | None,
    ) -> None:
        self._audit.within(
            transaction,
            AuditEntry(
                "question.answered",
                actor=actor,
                subject=stored.id,
                session_id=stored.session_id,
                run_id=stored.run_id,
                agent_id=stored.agent_id,
                operation_id=stored.operation_id,
                outcome=outcome,
                detail=None if responses is None else {"responses": dict(responses)},
            ),
        )


def _read(transaction: Transaction, question_id: str) -> StoredQuestion | None:
    found = transaction.fetch(_READ, (question_id,))
    return StoredQuestion(*found[0]) if found else None


def about_call(call: CallState) -> dict[str, Any]:
    """Return the audit entry of a call."""
    return {
        "session_id": call.context.session_id,
        "run_id": call.context.run_id,
        "agent_id": call.context.agent_id,
        "tool_name": call.tool_name,
        "operation_id": call.operation_id,
    }
