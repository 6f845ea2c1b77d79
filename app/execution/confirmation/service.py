"""Confirmation by a person before a call runs: based on rows, not futures.

The row is committed before the event is sent, the answer is stored by compare-and-set, and the
digest binds it to exactly this call. A future only wakes the waiting call; no decision depends on
one. No answer means "not run". When the service stops, a confirmation stays open, and the next
process asks it again under the same ID.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from app.core.clock import Clock, stamp
from app.core.errors import RateLimited, StorageUnavailable
from app.core.ids import new_id
from app.core.kept_tasks import KeptTasks
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Row
from app.domain.owners import SessionOwner
from app.events.durable import ToolConfirmationRequest, ToolConfirmationResolved
from app.events.log import SessionLog
from app.execution.confirmation.answer_recorder import AnswerOutcome, AnswerRecorder
from app.execution.confirmation.answers import ConfirmationReply, ConfirmationResolution
from app.execution.confirmation.equal_requests import EqualRequests
from app.execution.confirmation.pending_confirmations import (
    ConfirmationRequest,
    PendingConfirmation,
    PendingConfirmations,
    Requester,
)
from app.execution.confirmation.request import shown_arguments
from app.execution.confirmation.rows import ConfirmationRows
from app.execution.confirmation.timers import reminders
from app.execution.suspension import RunSuspension
from app.execution.wait_watcher import WaitWatcher
from app.governance.approvals.approver import ApprovalTerms, Approver
from app.governance.approvals.policies import ApprovalPolicy
from app.governance.approvals.rights import ApprovalRights
from app.governance.audit.log import AuditLog
from app.governance.grants import GrantStore

_CANCELLED = ConfirmationResolution("cancelled")


@dataclass(frozen=True, slots=True)
class ConfirmationLimits:
    """Limits of open confirmations.

    Attributes:
        ttl_s: lifetime in seconds; 0 for no end.
        max_pending: number of open confirmations of one session.
    """

    ttl_s: float = 600.0
    max_pending: int = 50


class ConfirmationService:
    """Open confirmations of this process. A `Suspendable`.

    Attributes:
        equal: requests that one answer can cover.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        grants: GrantStore,
        audit: AuditLog,
        suspension: RunSuspension,
        redactor: Redactor,
        approvals: ApprovalRights,
        limits: ConfirmationLimits,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rows = ConfirmationRows(db, clock, audit)
        self._redactor = redactor
        self._approvals = approvals
        self._limits = limits
        self._open = PendingConfirmations(clock, self._expire)
        self._answers = AnswerRecorder(
            *(db, clock, self._rows, self._open, grants, approvals, redactor, self._resolve)
        )
        self.equal = EqualRequests(self._open, self._answers)
        self._futures: dict[str, asyncio.Future[ConfirmationResolution]] = {}
        # Runs of approved but unused confirmations.
        self._unused: dict[str, str | None] = {}
        self._suspension = suspension
        self._tasks = KeptTasks()
        suspension.watch(self)

    def watch(self, watcher: WaitWatcher) -> None:
        """Notify `watcher` of the open confirmations, and of each from now on."""
        self._open.watch(watcher)

    # -- for the asking call --------------------------------------------------------------

    def policy_for(
        self, owner: SessionOwner | None, tool_name: str, risk: str
    ) -> ApprovalPolicy | None:
        """Return the approval policy that applies to a call."""
        if owner is None:
            return None
        return self._approvals.policies.covering(owner, tool_name, risk)

    def terms_of(
        self, policy: ApprovalPolicy | None, requester: str | None
    ) -> ApprovalTerms | None:
        """Return what a policy requires of a request that is opened now."""
        return None if policy is None else policy.terms(requester, self._clock.time())

    def put(self, log: SessionLog, question: ConfirmationRequest, requester: Requester) -> str:
        """Open a confirmation and return its ID for `wait`.

        Raises:
            RateLimited: too many confirmations are open in this session.
        """
        most = self._limits.max_pending
        if len(self._open.by_session.get(log.session_id, ())) >= most:
            raise RateLimited(f"{most} confirmations are open in this session; answer some first")
        confirmation_id, now = new_id("cfm"), self._clock.time()
        lives = self._limits.ttl_s if question.expires_in_s is None else question.expires_in_s
        expires = now + lives if lives else None
        question = replace(question, call={**question.call, "reminders": reminders(now, expires)})
        request: dict[str, Any] = {
            **question.ids,
            **question.fields,
            "tool_name": question.tool_name,
            "digest": question.digest,
            "options": [option.to_dict() for option in question.options.values()],
            "expires_at": stamp(expires) if expires else None,
            "approval": question.case.terms.to_dict() if question.case.terms else None,
        }
        self._rows.add(confirmation_id, log.session_id, question, request, expires)
        log.emit(ToolConfirmationRequest, confirmation_id=confirmation_id, **request)
        self._remember(confirmation_id, log, question, request, requester, expires)
        return confirmation_id

    def restore(
        self,
        confirmation_id: str,
        log: SessionLog,
        question: ConfirmationRequest,
        request: dict[str, Any],
        requester: Requester,
        expires: float | None,
        *,
        answer: ConfirmationResolution | None,
        is_reported: bool,
    ) -> None:
        """Reopen a confirmation of a previous process, without a new row or event.

        Args:
            answer: outcome already stored but not yet used by the call.
            is_reported: the event of this outcome has been sent.
        """
        pending = self._remember(confirmation_id, log, question, request, requester, expires)
        if answer is None:
            return
        if is_reported:
            self._forget(confirmation_id, answer)
            self._note_unused(confirmation_id, pending, answer)
            pending.future.set_result(answer)
        else:
            self._resolve(confirmation_id, answer)

    async def wait(self, confirmation_id: str) -> ConfirmationResolution:
        """Return the answer to an open confirmation.

        Raises:
            StorageUnavailable: the confirmation cannot be committed, so it is not shown.
        """
        future = self._futures[confirmation_id]
        try:
            await self._db.flush()
            return await future
        except asyncio.CancelledError:
            pending = self._open.items.get(confirmation_id)
            run_id = pending.run_id if pending else self._unused.get(confirmation_id)
            if not self._suspension.is_suspended(run_id):
                self._cancel(confirmation_id)
            raise
        except StorageUnavailable:
            self._cancel(confirmation_id)
            raise
        finally:
            self._futures.pop(confirmation_id, None)

    def give_up(self, confirmation_id: str) -> None:
        """Withdraw a confirmation that no call waits for, or an unused approval."""
        if self._futures.pop(confirmation_id, None) is not None:
            self._cancel(confirmation_id)
        elif confirmation_id in self._unused:
            self.void(confirmation_id)

    def forget(self, run_id: str) -> None:
        """Drop the confirmations of a run that is closed as a whole."""
        ids = [key for key, item in self._open.items.items() if item.run_id == run_id]
        for confirmation_id in ids:
            self._forget(confirmation_id, _CANCELLED)
            self._futures.pop(confirmation_id, None)

    async def consume(self, confirmation_id: str, call_row: Row) -> bool:
        """Consume an approval and claim its call in one transaction; False if either is no longer
        available.
        """
        try:
            return await self._rows.consume(confirmation_id, call_row)
        finally:
            self._unused.pop(confirmation_id, None)

    def void(self, confirmation_id: str) -> None:
        """Void an unused approval because its call has changed."""
        self._unused.pop(confirmation_id, None)
        self._rows.void(confirmation_id)

    # -- for clients ----------------------------------------------------------------------

    async def answer(
        self,
        confirmation_id: str,
        reply: ConfirmationReply,
        approver: Approver,
        *,
        session_id: str | None = None,
        owner: SessionOwner | None = None,
    ) -> AnswerOutcome:
        """Submit an answer. See `AnswerRecorder.answer`."""
        return await self._answers.answer(
            confirmation_id, reply, approver, session_id=session_id, owner=owner
        )

    def check_due(self) -> None:
        """Send the reminders, and end what has expired, by the clock as it is now."""
        for confirmation_id in tuple(self._open.items):
            self._open.check(confirmation_id)

    def pending(self, session_id: str) -> list[dict[str, Any]]:
        """Return the open confirmations of a session, as event fields."""
        found = self._open.by_session.get(session_id, {})
        return [{"confirmation_id": key, **item.request} for key, item in found.items()]

    # -- for shutdown ---------------------------------------------------------------------

    def suspend(self, run_id: str) -> bool:
        """Leave a run's confirmations to the next process; False if it has none."""
        waiting = [item for item in self._open.items.values() if item.run_id == run_id]
        if not waiting and run_id not in self._unused.values():
            return False
        for item in waiting:
            item.stop()
        return True

    # -- internal -------------------------------------------------------------------------

    def _remember(
        self,
        confirmation_id: str,
        log: SessionLog,
        question: ConfirmationRequest,
        request: dict[str, Any],
        requester: Requester,
        expires: float | None,
    ) -> PendingConfirmation:
        loop = asyncio.get_running_loop()
        pending = PendingConfirmation(log, question, request, requester, loop.create_future())
        self._futures[confirmation_id] = pending.future
        self._open.add(confirmation_id, pending, expires)
        return pending

    def _expire(self, confirmation_id: str) -> None:
        self._tasks.keep(self._settle_expired(confirmation_id))

    async def _settle_expired(self, confirmation_id: str) -> None:
        """Settle an expired confirmation; an answer already in the database wins."""
        pending = self._open.items.get(confirmation_id)
        if pending is None:
            return
        try:
            expired = await self._rows.expire(confirmation_id, pending)
        except StorageUnavailable:
            expired = True
        if expired:
            self._resolve(confirmation_id, ConfirmationResolution("expired"))

    def _cancel(self, confirmation_id: str) -> None:
        """End the confirmation of a call that will not run, regardless of answers."""
        self._unused.pop(confirmation_id, None)
        self._rows.cancel(confirmation_id, self._open.items.get(confirmation_id))
        self._resolve(confirmation_id, _CANCELLED)

    def _forget(
        self, confirmation_id: str, answer: ConfirmationResolution
    ) -> PendingConfirmation | None:
        return self._open.pop(confirmation_id, answer.outcome, answer.by)

    def _note_unused(
        self, confirmation_id: str, pending: PendingConfirmation, answer: ConfirmationResolution
    ) -> None:
        if answer.outcome == "approved":
            self._unused[confirmation_id] = pending.run_id

    def _resolve(self, confirmation_id: str, answer: ConfirmationResolution) -> None:
        pending = self._forget(confirmation_id, answer)
        if pending is None:
            return
        self._note_unused(confirmation_id, pending, answer)
        edited = answer.edited_args
        pending.log.emit(
            ToolConfirmationResolved,
            **pending.question.ids,
            confirmation_id=confirmation_id,
            outcome=answer.outcome,
            option_id=answer.option_id,
            by=answer.by,
            message=answer.message,
            edited_args=None if edited is None else shown_arguments(edited, self._redactor),
            grant_id=answer.grant_id,
            on_behalf_of=answer.on_behalf_of,
            approved_by=list(answer.approved_by) or None,
        )
        if not pending.future.done():
            pending.future.set_result(answer)
