"""What is open: the questions of this process, and the calls behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.events.log import SessionLog
from app.execution.confirmation.answers import ConfirmationResolution
from app.execution.confirmation.options import AnswerOption


class Requester(Protocol):
    """The call behind a question."""

    async def checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments that a person put in place, as they would run.

        Raises:
            InvalidInput: they do not fit, or policy denies the call with them.
        """

    def released_by(self) -> str | None:
        """The grant that answers the question by now, if one does."""


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """What a person is asked: exactly the call that would run.

    Attributes:
        fields: the event's own fields, without the ids and the time.
        offers: the answers that may be given.
        pattern: what a lasting approval would cover.
        call: what a restarted service needs to run it.
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
    """One open question. `request` is what its event says."""

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
    """What is open, by confirmation, and which of them belong to which session."""

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
