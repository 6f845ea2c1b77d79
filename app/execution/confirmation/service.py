"""Confirmation by a person before a call runs: based on rows, not futures.

The row is committed before the event is sent, the answer is stored by compare-and-set, and the
digest binds it to exactly this call. A future only wakes the waiting call; no decision depends on
one. No answer means "not run". When the service stops, a confirmation stays open, and the next
process asks it again under the same ID.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal

from app.core.clock import Clock, stamp
from app.core.errors import (
    Conflict,
    NotFound,
    RateLimited,
    StorageUnavailable,
    TollgateError,
)
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Row, Transaction
from app.events.durable import ToolConfirmationRequest, ToolConfirmationResolved
from app.events.log import SessionLog
from app.execution.confirmation.answers import (
    Approver,
    ConfirmationReply,
    ConfirmationResolution,
    chosen_option,
    refusal,
)
from app.execution.confirmation.options import AnswerOption
from app.execution.confirmation.pending_confirmations import (
    ConfirmationRequest,
    PendingConfirmation,
    PendingConfirmations,
    Requester,
)
from app.execution.confirmation.request import shown_arguments
from app.execution.confirmation.rows import ConfirmationRows
from app.execution.suspension import RunSuspension
from app.execution.wait_watcher import NoWatcher, WaitWatcher
from app.governance.audit.log import AuditLog
from app.governance.grants import GrantStore, StoredGrant

_CANCELLED = ConfirmationResolution("cancelled")


class ConfirmationService:
    """Open confirmations of this process. A `Suspendable`."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        grants: GrantStore,
        audit: AuditLog,
        suspension: RunSuspension,
        redactor: Redactor,
        *,
        ttl_s: float = 600.0,
        max_pending: int = 50,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rows = ConfirmationRows(db, clock, audit)
        self._grants = grants
        self._redactor = redactor
        self._ttl_s = ttl_s
        self._max_pending = max_pending
        self._open = PendingConfirmations()
        self._futures: dict[str, asyncio.Future[ConfirmationResolution]] = {}
        # Runs of approved but unused confirmations.
        self._unused: dict[str, str | None] = {}
        self._suspension = suspension
        self._settling: set[asyncio.Task[None]] = set()
        self._watcher: WaitWatcher = NoWatcher()
        suspension.watch(self)

    def watch(self, watcher: WaitWatcher) -> None:
        """Tell `watcher` of the open confirmations, and of each from now on."""
        self._watcher = watcher
        for key, item in self._open.items.items():
            watcher.opened("confirmation", key, item.log.session_id, item.request)

    # -- for the asking call --------------------------------------------------------------

    def put(self, log: SessionLog, question: ConfirmationRequest, requester: Requester) -> str:
        """Open a confirmation and return its ID for `wait`.

        Raises:
            RateLimited: too many confirmations are open in this session.
        """
        if len(self._open.by_session.get(log.session_id, ())) >= self._max_pending:
            raise RateLimited(
                f"{self._max_pending} confirmations are open in this session; answer some first"
            )
        confirmation_id = new_id("cfm")
        expires = self._clock.time() + self._ttl_s if self._ttl_s else None
        request: dict[str, Any] = {
            **question.ids,
            **question.fields,
            "tool_name": question.tool_name,
            "digest": question.digest,
            "options": [option.to_dict() for option in question.options.values()],
            "expires_at": stamp(expires) if expires else None,
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
    ) -> Literal["approved", "declined"]:
        """Submit an answer: the first valid one wins.

        Raises:
            NotFound: the confirmation does not exist (in this session).
            Forbidden: the approver may not give this answer.
            InvalidInput: the option was not offered, or the edited arguments are invalid or denied.
            DigestMismatch: the answer belongs to another call.
            ConfirmationExpired: the confirmation has expired.
            ConfirmationAlreadyResolved: someone else answered first.
            AlreadyFinished: the call has been cancelled.
        """
        pending = self._open.items.get(confirmation_id)
        if pending is None or session_id not in (None, pending.log.session_id):
            raise await self._not_open(confirmation_id, reply, session_id)
        question = pending.question
        option = chosen_option(
            question.options, reply, approver, agent_id=question.ids.get("agent_id")
        )
        if reply.digest != question.digest:
            raise refusal("", status="pending", stored_digest="", by=None, digest=reply.digest)
        edited = None
        if reply.edited_args is not None:
            edited = await pending.requester.checked(reply.edited_args)
        grant = self._drafted(confirmation_id, question, option, approver)
        outcome: Literal["approved", "declined"] = (
            "approved" if option.kind == "allow" else "declined"
        )
        grant_id = grant.id if grant else None
        message = None if reply.message is None else self._redactor.text(reply.message)
        answer = ConfirmationResolution(
            outcome, option.option_id, approver.user_id, message, edited, grant_id
        )
        # A committed answer applies, even if its sender has disconnected.
        taking = self._keep(self._take(confirmation_id, pending, answer, grant))
        await asyncio.shield(taking)
        return outcome

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
            if item.timer is not None:
                item.timer.cancel()
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
        self._open.add(confirmation_id, pending)
        self._futures[confirmation_id] = pending.future
        self._watcher.opened("confirmation", confirmation_id, log.session_id, request)
        if expires:
            left = max(0.0, expires - self._clock.time())
            pending.timer = loop.call_later(left, self._expire, confirmation_id)
        return pending

    def _drafted(
        self,
        confirmation_id: str,
        question: ConfirmationRequest,
        option: AnswerOption,
        approver: Approver,
    ) -> StoredGrant | None:
        if option.scope is None or question.pattern is None:
            return None
        lives = option.expires_in_s
        return self._grants.draft(
            tool_name=question.tool_name,
            scope=option.scope,
            scope_id=option.scope_id,
            pattern=question.pattern,
            confirmation_id=confirmation_id,
            created_by=approver.user_id,
            expires_at=self._clock.time() + lives if lives else None,
        )

    async def _take(
        self,
        confirmation_id: str,
        pending: PendingConfirmation,
        answer: ConfirmationResolution,
        grant: StoredGrant | None,
    ) -> None:
        """Store the answer by compare-and-set, and wake the call."""
        write = self._rows.answered(confirmation_id, pending, answer)

        def claim(transaction: Transaction) -> tuple[Any, ...] | None:
            if not write(transaction):
                return self._rows.read(transaction, confirmation_id)
            if grant is not None:
                self._grants.add_within(transaction, grant)
            return None

        lost = await self._db.transact(claim)
        if lost is not None:
            raise refusal(
                confirmation_id,
                status=lost[0],
                stored_digest=lost[1],
                by=lost[2],
                digest=pending.question.digest,
            )
        if grant is not None:
            self._grants.adopt(grant)
        if confirmation_id not in self._open.items:
            raise refusal(confirmation_id, status="cancelled", stored_digest="", by=None, digest="")
        self._resolve(confirmation_id, answer)
        if grant is not None:
            await self._release(grant, answer)

    async def _release(self, grant: StoredGrant, answer: ConfirmationResolution) -> None:
        """Release waiting calls that the same answer now covers."""
        released = ConfirmationResolution(
            "approved", answer.option_id, answer.by, grant_id=grant.id, is_released=True
        )
        writes = {
            key: self._rows.answered(key, item, released)
            for key, item in self._open.items.items()
            if _concerns(grant, item) and item.requester.released_by() == grant.id
        }
        if not writes:
            return

        def claim(transaction: Transaction) -> list[str]:
            return [key for key, write in writes.items() if write(transaction)]

        for key in await self._db.transact(claim):
            self._grants.hit(grant.id)
            self._resolve(key, released)

    async def _not_open(
        self, confirmation_id: str, reply: ConfirmationReply, session_id: str | None
    ) -> TollgateError:
        """Return why the confirmation cannot be answered."""

        def read(transaction: Transaction) -> tuple[Any, ...] | None:
            return self._rows.read(transaction, confirmation_id)

        found = await self._db.transact(read)
        if found is None or session_id not in (None, found[4]):
            return NotFound(
                f"Confirmation {confirmation_id!r} not found in this session",
                confirmation_id=confirmation_id,
            )
        status, digest, by, expires, _ = found
        if status == "pending" and (expires is None or expires > self._clock.time()):
            return Conflict(
                "The call waits in another process; answer it there",
                confirmation_id=confirmation_id,
            )
        return refusal(
            confirmation_id, status=status, stored_digest=digest, by=by, digest=reply.digest
        )

    def _expire(self, confirmation_id: str) -> None:
        self._keep(self._settle_expired(confirmation_id))

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` to its end, even if its waiter is cancelled."""
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settled)
        return task

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling.discard(task)
        if not task.cancelled():
            task.exception()  # The waiter receives it, if there still is one.

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
        pending = self._open.pop(confirmation_id)
        if pending is not None:
            if pending.timer is not None:
                pending.timer.cancel()
            self._watcher.closed(confirmation_id, answer.outcome, answer.by)
        return pending

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
        )
        if not pending.future.done():
            pending.future.set_result(answer)


def _concerns(grant: StoredGrant, pending: PendingConfirmation) -> bool:
    """Return whether a grant may cover the call of a confirmation, before policy evaluates it."""
    if grant.tool_name != pending.question.tool_name:
        return False
    ids = {
        "run": pending.run_id,
        "session": pending.log.session_id,
        "agent": pending.question.ids.get("agent_id"),
    }
    return grant.scope == "always" or ids[grant.scope] == grant.scope_id
