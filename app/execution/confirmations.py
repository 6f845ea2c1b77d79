"""Asking a person before a call runs: rows, not futures.

The row is committed before the event is sent, the answer is taken by compare-and-set,
and the digest binds it to exactly this call. A future only wakes the waiting call; no
decision depends on one. No answer means "not run".
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import orjson

from app.core.clock import Clock, isoformat, stamp
from app.core.errors import (
    AlreadyFinished,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    DigestMismatch,
    InvalidInput,
    NotFound,
    RateLimited,
    StorageUnavailable,
)
from app.core.ids import new_id
from app.db.ledger import Ledger, Transaction
from app.db.statements import ADD_CONFIRMATION, CANCEL_CONFIRMATION
from app.events.durable import (
    ConfirmationOutcome,
    ToolConfirmationRequest,
    ToolConfirmationResolved,
)
from app.events.log import SessionLog

APPROVE_ONCE = "approve_once"
DECLINE = "decline"
OPTIONS = (
    {"option_id": DECLINE, "label": "Decline", "kind": "deny"},
    {"option_id": APPROVE_ONCE, "label": "Approve once", "kind": "allow"},
)
MAX_PENDING_PER_SESSION = 50

_CLAIM = (
    "UPDATE confirmations SET status = ?, option_id = ?, answered_by = ?, message = ?,"
    " answered_at = ? WHERE id = ? AND status = 'pending' AND digest = ?"
    " AND (expires_at IS NULL OR expires_at > ?)"
)
_EXPIRE = (
    "UPDATE confirmations SET status = 'expired', answered_at = ?"
    " WHERE id = ? AND status = 'pending'"
)
_READ = "SELECT status, digest, answered_by, expires_at, session_id FROM confirmations WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a confirmation ended, for the waiting call."""

    outcome: ConfirmationOutcome
    option_id: str | None = None
    by: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: exactly the call that would run."""

    tool_call_id: str
    operation_id: str
    tool_name: str
    title: str
    description: str
    subject: Mapping[str, Any]
    risk: Mapping[str, Any]
    digest: str
    run_id: str | None
    agent_id: str | None


@dataclass(slots=True)
class _Pending:
    log: SessionLog
    question: Question
    request: dict[str, Any]
    future: asyncio.Future[Answer]
    timer: asyncio.TimerHandle | None = None


def call_digest(*, tool: str, canonical: bytes, cwd: str | None, agent_id: str | None) -> str:
    """What an approval is bound to: tool, arguments, working directory, agent."""
    parts = orjson.dumps([tool, cwd, agent_id])
    return sha256(parts + b"\0" + canonical).hexdigest()


class Confirmations:
    """The open questions of this process."""

    def __init__(self, ledger: Ledger, clock: Clock, *, ttl_s: float = 600.0) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ttl_s = ttl_s
        self._pending: dict[str, _Pending] = {}
        self._settling: set[asyncio.Task[None]] = set()

    async def ask(self, log: SessionLog, question: Question) -> Answer:
        """Put the question and wait for its one answer.

        Raises:
            RateLimited: too many questions are open in this session.
            StorageUnavailable: the question cannot be committed, so it is not put.
        """
        if len(self.pending(log.session_id)) >= MAX_PENDING_PER_SESSION:
            raise RateLimited(
                f"{MAX_PENDING_PER_SESSION} confirmations are open in this session; answer them"
            )
        confirmation_id, pending = self._open(log, question)
        try:
            await self._ledger.durable()
            return await pending.future
        except (asyncio.CancelledError, StorageUnavailable):
            self._cancel(confirmation_id)
            raise

    async def answer(
        self,
        confirmation_id: str,
        *,
        option_id: str,
        digest: str,
        by: str,
        message: str | None = None,
        session_id: str | None = None,
    ) -> Literal["approved", "declined"]:
        """Take an answer: the first valid one wins.

        Raises:
            NotFound: there is no such confirmation (in this session).
            InvalidInput: the option was not offered.
            DigestMismatch: the answer is for another call.
            ConfirmationExpired: it came too late.
            ConfirmationAlreadyResolved: somebody else was first.
            AlreadyFinished: the call was cancelled meanwhile.
        """
        kinds = {str(option["option_id"]): option["kind"] for option in OPTIONS}
        if option_id not in kinds:
            raise InvalidInput(f"option_id must be one of {', '.join(kinds)}", field="option_id")
        outcome: Literal["approved", "declined"] = (
            "approved" if kinds[option_id] == "allow" else "declined"
        )
        # Once it is committed it counts, also when whoever sent it has gone away meanwhile.
        answer = Answer(outcome, option_id, by, message)
        taking = self._keep(self._take(confirmation_id, answer, digest, session_id))
        await asyncio.shield(taking)
        return outcome

    async def _take(
        self, confirmation_id: str, answer: Answer, digest: str, session_id: str | None
    ) -> None:
        """Write the answer by compare-and-set, and wake the call."""
        now = self._clock.now()

        def claim(transaction: Transaction) -> tuple[Any, ...] | None:
            row = (answer.outcome, answer.option_id, answer.by, answer.message, isoformat(now))
            where = (confirmation_id, digest, now.timestamp())
            known = transaction.fetch(_READ, (confirmation_id,))
            if not known or (session_id is not None and known[0][4] != session_id):
                raise NotFound(
                    f"No confirmation {confirmation_id!r} in this session",
                    confirmation_id=confirmation_id,
                )
            if transaction.execute(_CLAIM, row + where):
                return None
            return known[0]

        lost = await self._ledger.transact(claim)
        if lost is not None:
            raise _refusal(confirmation_id, lost, digest)
        if confirmation_id not in self._pending:
            raise AlreadyFinished(
                "The call is over; it was not run", confirmation_id=confirmation_id
            )
        self._resolve(confirmation_id, answer)

    def pending(self, session_id: str) -> list[dict[str, Any]]:
        """The open questions of a session, as their events' fields."""
        return [
            {"confirmation_id": key, **item.request}
            for key, item in self._pending.items()
            if item.log.session_id == session_id
        ]

    def _open(self, log: SessionLog, question: Question) -> tuple[str, _Pending]:
        confirmation_id = new_id("cfm")
        now = self._clock.now()
        expires = now.timestamp() + self._ttl_s if self._ttl_s else None
        request: dict[str, Any] = {
            "tool_call_id": question.tool_call_id,
            "operation_id": question.operation_id,
            "run_id": question.run_id,
            "agent_id": question.agent_id,
            "tool_name": question.tool_name,
            "title": question.title,
            "description": question.description,
            "subject": question.subject,
            "risk": question.risk,
            "digest": question.digest,
            "options": list(OPTIONS),
            "expires_at": stamp(expires) if expires else None,
        }
        loop = asyncio.get_running_loop()
        pending = _Pending(log, question, request, loop.create_future())
        self._ledger.append(
            ADD_CONFIRMATION,
            (
                confirmation_id,
                log.session_id,
                question.run_id,
                question.tool_call_id,
                question.operation_id,
                question.agent_id,
                question.tool_name,
                question.digest,
                "pending",
                orjson.dumps(request, default=str).decode(),
                isoformat(now),
                expires,
            ),
        )
        log.emit(ToolConfirmationRequest, confirmation_id=confirmation_id, **request)
        self._pending[confirmation_id] = pending
        if expires:
            pending.timer = loop.call_later(self._ttl_s, self._expire, confirmation_id)
        return confirmation_id, pending

    def _expire(self, confirmation_id: str) -> None:
        self._keep(self._settle_expired(confirmation_id))

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` to its end, whoever stops waiting for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settled)
        return task

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; nobody may be waiting any more

    async def _settle_expired(self, confirmation_id: str) -> None:
        """An answer that is already in the database wins over the clock."""
        moment = isoformat(self._clock.now())

        def expire(transaction: Transaction) -> bool:
            return bool(transaction.execute(_EXPIRE, (moment, confirmation_id)))

        try:
            expired = await self._ledger.transact(expire)
        except StorageUnavailable:
            expired = True
        if expired:
            self._resolve(confirmation_id, Answer("expired"))

    def _cancel(self, confirmation_id: str) -> None:
        """End a question whose call will never run, whatever anybody answered meanwhile."""
        moment = isoformat(self._clock.now())
        self._ledger.append(CANCEL_CONFIRMATION, (moment, confirmation_id))
        self._resolve(confirmation_id, Answer("cancelled"))

    def _resolve(self, confirmation_id: str, answer: Answer) -> None:
        pending = self._pending.pop(confirmation_id, None)
        if pending is None:
            return
        if pending.timer is not None:
            pending.timer.cancel()
        question = pending.question
        pending.log.emit(
            ToolConfirmationResolved,
            run_id=question.run_id,
            agent_id=question.agent_id,
            tool_call_id=question.tool_call_id,
            operation_id=question.operation_id,
            confirmation_id=confirmation_id,
            outcome=answer.outcome,
            option_id=answer.option_id,
            by=answer.by,
            message=answer.message,
        )
        if not pending.future.done():
            pending.future.set_result(answer)


def _refusal(
    confirmation_id: str, row: tuple[Any, ...], digest: str
) -> ConfirmationAlreadyResolved | ConfirmationExpired | DigestMismatch:
    status, stored_digest, by = row[0], row[1], row[2]
    if status == "expired" or (status == "pending" and stored_digest == digest):
        return ConfirmationExpired("The confirmation has expired; the call was not run")
    if status != "pending":
        return ConfirmationAlreadyResolved(
            f"Already {status}" + (f" by {by}" if by else ""),
            confirmation_id=confirmation_id,
            outcome=status,
            by=by,
        )
    return DigestMismatch("The digest is not this call's; load the confirmation again")
