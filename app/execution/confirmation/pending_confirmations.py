"""Pending confirmations of this process, with their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.core.clock import Clock
from app.events.log import SessionLog
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.options import AnswerOption
from app.execution.confirmation.timers import CHECK_S, Milestone, milestones
from app.execution.wait_watcher import NoWatcher, WaitWatcher
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms


class Requester(Protocol):
    """Access to the call behind a confirmation."""

    async def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return edited arguments as they would run.

        Raises:
            InvalidInput: they are invalid, or policy denies the call with them.
        """

    def released_by(self) -> str | None:
        """Return the grant that now answers the confirmation, if any."""


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """Confirmation request for exactly the call that would run.

    Attributes:
        fields: fields of the event, without IDs and time.
        options: offered answers.
        pattern: coverage of a standing approval.
        call: data that a restarted service needs to run the call.
        case: who may answer.
        expires_in_s: lifetime in seconds; 0 for no end, None for the service's setting.
    """

    ids: Mapping[str, Any]
    tool_name: str
    digest: str
    fields: Mapping[str, Any]
    options: Mapping[str, AnswerOption]
    pattern: Mapping[str, Any] | None
    call: Mapping[str, Any]
    case: ApprovalCase
    expires_in_s: float | None = None


@dataclass(slots=True)
class PendingConfirmation:
    """One open confirmation.

    Attributes:
        request: its event.
        due: what happens if nobody answers, next first.
    """

    log: SessionLog
    question: ConfirmationRequest
    request: dict[str, Any]
    requester: Requester
    future: asyncio.Future[ConfirmationResolution]
    due: list[Milestone] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    @property
    def terms(self) -> ApprovalTerms | None:
        """Return what a policy requires, with the approvals so far."""
        return ApprovalTerms.from_dict(self.request.get("approval"))

    @property
    def run_id(self) -> str | None:
        return self.question.ids.get("run_id")

    def stop(self) -> None:
        """Stop its timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class PendingConfirmations:
    """Pending confirmations, by ID and by session, with their timers.

    Attributes:
        watcher: notified of each confirmation that opens, changes or closes.
    """

    def __init__(self, clock: Clock, expire: Callable[[str], None]) -> None:
        """Bind it.

        Args:
            expire: called with the ID of a confirmation that has expired.
        """
        self.items: dict[str, PendingConfirmation] = {}
        self.by_session: dict[str, dict[str, PendingConfirmation]] = {}
        self.watcher: WaitWatcher = NoWatcher()
        self._clock = clock
        self._expire = expire

    def watch(self, watcher: WaitWatcher) -> None:
        """Notify `watcher` of the open confirmations, and of each from now on."""
        self.watcher = watcher
        for confirmation_id, pending in self.items.items():
            watcher.opened("confirmation", confirmation_id, pending.log.session_id, pending.request)

    def add(
        self, confirmation_id: str, pending: PendingConfirmation, expires: float | None
    ) -> None:
        """Add an open confirmation, and start its timer.

        Args:
            expires: Unix time.
        """
        self.items[confirmation_id] = pending
        session_id = pending.log.session_id
        self.by_session.setdefault(session_id, {})[confirmation_id] = pending
        self.watcher.opened("confirmation", confirmation_id, session_id, pending.request)
        pending.due = milestones(
            expires=expires,
            reminded=pending.question.call.get("reminders", ()),
            terms=pending.terms,
            now=self._clock.time(),
        )
        self._await_next(confirmation_id, pending)

    def pop(self, confirmation_id: str, outcome: str, by: str | None) -> PendingConfirmation | None:
        """Remove a confirmation that has ended; None if it is not open."""
        pending = self.items.pop(confirmation_id, None)
        if pending is None:
            return None
        session_id = pending.log.session_id
        of_session = self.by_session[session_id]
        del of_session[confirmation_id]
        if not of_session:
            del self.by_session[session_id]
        pending.stop()
        self.watcher.closed(confirmation_id, outcome, by)
        return pending

    def check(self, confirmation_id: str) -> None:
        """Do what is due for an open confirmation, and wait for the next moment."""
        pending = self.items.get(confirmation_id)
        if pending is None:
            return
        pending.stop()
        now = self._clock.time()
        while pending.due and pending.due[0].at <= now:
            milestone = pending.due.pop(0)
            if milestone.kind == "expired":
                self._expire(confirmation_id)
                return
            self.watcher.changed(confirmation_id, milestone.kind, pending.request, milestone.number)
        self._await_next(confirmation_id, pending)

    def _await_next(self, confirmation_id: str, pending: PendingConfirmation) -> None:
        if pending.due:
            left = min(max(0.0, pending.due[0].at - self._clock.time()), CHECK_S)
            loop = asyncio.get_running_loop()
            pending.timer = loop.call_later(left, self.check, confirmation_id)
