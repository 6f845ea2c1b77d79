"""Pending confirmations of this process, with their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.events.log import SessionLog
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.options import AnswerOption


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
    """

    ids: Mapping[str, Any]
    tool_name: str
    digest: str
    fields: Mapping[str, Any]
    options: Mapping[str, AnswerOption]
    pattern: Mapping[str, Any] | None
    call: Mapping[str, Any]


@dataclass(slots=True)
class PendingConfirmation:
    """One open confirmation; `request` is its event."""

    log: SessionLog
    question: ConfirmationRequest
    request: dict[str, Any]
    requester: Requester
    future: asyncio.Future[ConfirmationResolution]
    timer: asyncio.TimerHandle | None = None

    @property
    def run_id(self) -> str | None:
        return self.question.ids.get("run_id")


@dataclass(slots=True)
class PendingConfirmations:
    """Pending confirmations, by ID and by session."""

    items: dict[str, PendingConfirmation] = field(default_factory=dict)
    by_session: dict[str, dict[str, PendingConfirmation]] = field(default_factory=dict)

    def add(self, confirmation_id: str, pending: PendingConfirmation) -> None:
        self.items[confirmation_id] = pending
        self.by_session.setdefault(pending.log.session_id, {})[confirmation_id] = pending

    def pop(self, confirmation_id: str) -> PendingConfirmation | None:
        pending = self.items.pop(confirmation_id, None)
        if pending is not None:
            session_id = pending.log.session_id
            of_session = self.by_session[session_id]
            del of_session[confirmation_id]
            if not of_session:
                del self.by_session[session_id]
        return pending
