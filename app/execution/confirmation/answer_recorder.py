"""Answers of people to open confirmations: who may answer, votes, and standing approvals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from app.core.clock import Clock
from app.core.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    TollgateError,
)
from app.core.kept_tasks import KeptTasks
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Transaction
from app.domain.owners import SessionOwner
from app.events.durable import ToolConfirmationVote
from app.execution.confirmation.answers import (
    ConfirmationReply,
    ConfirmationResolution,
    VoteLost,
    chosen_option,
    refusal,
    repeated_vote,
    shorter,
)
from app.execution.confirmation.options import AnswerOption
from app.execution.confirmation.pending_confirmations import (
    ConfirmationRequest,
    PendingConfirmation,
    PendingConfirmations,
)
from app.execution.confirmation.rows import ConfirmationRows
from app.governance.approvals.approver import ApprovalCase, Approver
from app.governance.approvals.rights import ApprovalRights
from app.governance.grants import GrantStore, StoredGrant

AnswerOutcome = Literal["approved", "declined", "recorded"]
"""`recorded`: the approval counts, and further people must approve."""
Resolve = Callable[[str, ConfirmationResolution], None]


class AnswerRecorder:
    """Stores answers by compare-and-set, and passes the outcome to the waiting call."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        rows: ConfirmationRows,
        pending: PendingConfirmations,
        grants: GrantStore,
        approvals: ApprovalRights,
        redactor: Redactor,
        resolve: Resolve,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rows = rows
        self._open = pending
        self._grants = grants
        self._approvals = approvals
        self._redactor = redactor
        self._resolve = resolve
        self._tasks = KeptTasks()

    async def answer(
        self,
        confirmation_id: str,
        reply: ConfirmationReply,
        approver: Approver,
        *,
        session_id: str | None = None,
        owner: SessionOwner | None = None,
    ) -> AnswerOutcome:
        """Submit an answer: the first valid one wins, and one decline ends the request.

        Args:
            owner: owner of the session, as it is stored; that of the call if omitted.

        Raises:
            NotFound: the confirmation does not exist (in this session).
            Forbidden: the approver may not give this answer.
            InvalidInput: the option was not offered, or the edited arguments are invalid or denied.
            DigestMismatch: the answer belongs to another call.
            ConfirmationExpired: the confirmation has expired.
            ConfirmationAlreadyResolved: someone else answered first.
            AlreadyApproved: the same person has approved before, and others must too.
            AlreadyFinished: the call has been cancelled.
        """
        pending = self._open.items.get(confirmation_id)
        if pending is None or session_id not in (None, pending.log.session_id):
            raise await self._not_open(confirmation_id, reply, session_id)
        question = pending.question
        option = chosen_option(
            question.options, reply, approver, agent_id=question.ids.get("agent_id")
        )
        authority = self._authority(pending, approver, owner)
        if reply.digest != question.digest:
            raise refusal("", status="pending", stored_digest="", by=None, digest=reply.digest)
        edited = None
        if reply.edited_args is not None:
            edited = await self._edited(pending, reply.edited_args)
        outcome: Literal["approved", "declined"] = (
            "approved" if option.kind == "allow" else "declined"
        )
        answer = ConfirmationResolution(
            outcome,
            option.option_id,
            approver.user_id,
            None if reply.message is None else self._redactor.text(reply.message),
            edited,
            on_behalf_of=None if authority == approver.user_id else authority,
        )
        terms = pending.terms
        # A committed answer applies, even if its sender has disconnected.
        if outcome == "approved" and terms is not None and terms.quorum > 1:
            return await asyncio.shield(
                self._tasks.keep(self._vote(confirmation_id, pending, answer))
            )
        grant = self._drafted(confirmation_id, question, option, approver, reply)
        if grant is not None:
            answer = replace(answer, grant_id=grant.id)
        taking = self._tasks.keep(self._take(confirmation_id, pending, answer, grant, approver))
        await asyncio.shield(taking)
        return outcome

    def _authority(
        self, pending: PendingConfirmation, approver: Approver, owner: SessionOwner | None
    ) -> str:
        """Return the user on whose authority the approver answers.

        Raises:
            Forbidden: the approver may not answer this request.
        """
        question = pending.question
        case = ApprovalCase(owner or question.case.owner, pending.terms)
        authority = self._approvals.authority(approver, case)
        if authority is None:
            terms = pending.terms
            why = f"; the approval policy {terms.policy!r} names the approvers" if terms else ""
            raise Forbidden(f"You are not an approver of this request{why}")
        return authority

    async def _edited(
        self, pending: PendingConfirmation, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Return edited arguments as they would run."""
        terms = pending.terms
        if terms is not None and terms.quorum > 1:
            raise InvalidInput(
                f"{terms.quorum} people must approve the same arguments; decline the call instead",
                field="edited_args",
            )
        return await pending.requester.checked(arguments)

    def _drafted(
        self,
        confirmation_id: str,
        question: ConfirmationRequest,
        option: AnswerOption,
        approver: Approver,
        reply: ConfirmationReply,
    ) -> StoredGrant | None:
        if option.scope is None or question.pattern is None:
            return None
        lives = shorter(option.expires_in_s, reply.expires_in_s)
        return self._grants.draft(
            tool_name=question.tool_name,
            scope=option.scope,
            scope_id=option.scope_id,
            pattern=question.pattern,
            confirmation_id=confirmation_id,
            created_by=approver.user_id,
            expires_at=self._clock.time() + lives if lives else None,
            max_uses=reply.max_uses,
        )

    async def _vote(
        self, confirmation_id: str, pending: PendingConfirmation, answer: ConfirmationResolution
    ) -> AnswerOutcome:
        """Count an approval of several, and wake the call after the last one."""
        terms = pending.terms
        assert terms is not None
        write = self._rows.voted(confirmation_id, pending, terms, answer)
        counted = await self._db.transact(write)
        if isinstance(counted, VoteLost):
            if counted.is_repeat:
                raise repeated_vote(
                    confirmation_id, approved=len(terms.approved_by), quorum=terms.quorum
                )
            status, digest, by, *_ = counted.row
            raise refusal(
                confirmation_id,
                status=status,
                stored_digest=digest,
                by=by,
                digest=pending.question.digest,
            )
        if confirmation_id not in self._open.items:
            raise refusal(confirmation_id, status="cancelled", stored_digest="", by=None, digest="")
        pending.request["approval"] = replace(terms, approved_by=counted).to_dict()
        if len(counted) >= terms.quorum:
            self._resolve(confirmation_id, replace(answer, approved_by=counted))
            return "approved"
        pending.log.emit(
            ToolConfirmationVote,
            **pending.question.ids,
            confirmation_id=confirmation_id,
            by=answer.by,
            on_behalf_of=answer.on_behalf_of,
            approved_by=list(counted),
            quorum=terms.quorum,
        )
        self._open.watcher.changed(confirmation_id, "vote", pending.request, len(counted))
        return "recorded"

    async def _take(
        self,
        confirmation_id: str,
        pending: PendingConfirmation,
        answer: ConfirmationResolution,
        grant: StoredGrant | None,
        approver: Approver,
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
            await self._release(grant, answer, approver)

    async def _release(
        self, grant: StoredGrant, answer: ConfirmationResolution, approver: Approver
    ) -> None:
        """Release waiting calls that the same answer now covers, and the approver may decide."""
        released = ConfirmationResolution(
            "approved", answer.option_id, answer.by, grant_id=grant.id, is_released=True
        )
        covered = (
            (key, item)
            for key, item in self._open.items.items()
            if _concerns(grant, item)
            and self._approvals.authority(approver, item.question.case) is not None
            and item.requester.released_by() == grant.id
        )
        writes = {
            key: self._rows.answered(key, item, released)
            for key, item in islice(covered, grant.max_uses)
        }
        if not writes:
            return

        def claim(transaction: Transaction) -> list[str]:
            return [key for key, write in writes.items() if write(transaction)]

        for key in await self._db.transact(claim):
            self._grants.use(grant.id)
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


def _concerns(grant: StoredGrant, pending: PendingConfirmation) -> bool:
    """Return whether a grant may cover the call of a confirmation, before policy evaluates it."""
    terms = pending.question.case.terms
    if grant.tool_name != pending.question.tool_name or (terms is not None and terms.quorum > 1):
        return False
    ids = {
        "run": pending.run_id,
        "session": pending.log.session_id,
        "agent": pending.question.ids.get("agent_id"),
    }
    return grant.scope == "always" or ids[grant.scope] == grant.scope_id
