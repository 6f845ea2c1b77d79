"""Requests that one answer can cover: calls of a run that ask for equal reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import InvalidInput, TollgateError
from app.domain.owners import SessionOwner
from app.execution.confirmation.answer_recorder import AnswerRecorder
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.confirmation.options import APPROVE_ONCE, DECLINE
from app.execution.confirmation.pending_confirmations import (
    PendingConfirmation,
    PendingConfirmations,
)
from app.governance.approvals.approver import Approver

MAX_EQUAL = 50


@dataclass(frozen=True, slots=True)
class EqualRequest:
    """Pending request that has the same reasons as another one. `title` is its call in a line."""

    confirmation_id: str
    digest: str
    title: str


class EqualRequests:
    """Finds equal requests, and gives them the answer of one."""

    def __init__(self, pending: PendingConfirmations, recorder: AnswerRecorder) -> None:
        self._open = pending
        self._recorder = recorder

    def of(self, confirmation_id: str) -> list[EqualRequest]:
        """Return the other pending requests of the same run with equal reasons, oldest first."""
        first = self._open.items.get(confirmation_id)
        if first is None or first.run_id is None:
            return []
        of_session = self._open.by_session.get(first.log.session_id, {})
        found = [
            EqualRequest(key, item.question.digest, str(item.request["title"]))
            for key, item in of_session.items()
            if key != confirmation_id and _key(item) == _key(first)
        ]
        return found[:MAX_EQUAL]

    def check(
        self, confirmation_id: str, reply: ConfirmationReply, also: Mapping[str, str]
    ) -> None:
        """Check that one answer may cover these requests.

        Args:
            also: digests by confirmation.

        Raises:
            InvalidInput: a request is not equal, or the answer is not for single calls.
        """
        if not also:
            return
        if reply.option_id not in (APPROVE_ONCE, DECLINE) or reply.edited_args is not None:
            raise InvalidInput(
                f"also requires {APPROVE_ONCE!r} or {DECLINE!r}, without edited arguments",
                field="also",
            )
        equal = {item.confirmation_id for item in self.of(confirmation_id)}
        # One that has ended meanwhile reports this by itself.
        if wrong := [key for key in also if key in self._open.items and key not in equal]:
            raise InvalidInput(
                f"{wrong[0]!r} is not a request of the same run with equal reasons", field="also"
            )

    async def answer(
        self,
        reply: ConfirmationReply,
        also: Mapping[str, str],
        approver: Approver,
        *,
        session_id: str,
        owner: SessionOwner | None,
    ) -> dict[str, str]:
        """Give each request the answer, and return the outcomes or the codes of the errors."""
        outcomes: dict[str, str] = {}
        for confirmation_id, digest in also.items():
            own = ConfirmationReply(reply.option_id, digest, reply.message)
            try:
                outcomes[confirmation_id] = await self._recorder.answer(
                    confirmation_id, own, approver, session_id=session_id, owner=owner
                )
            except TollgateError as error:
                outcomes[confirmation_id] = error.code
        return outcomes


def _key(item: PendingConfirmation) -> tuple[Any, ...]:
    """Return what makes requests equal to an approver: tool, reasons, risk, folder and policy."""
    risk = item.request["risk"]
    reasons = frozenset((rule["rule_id"], rule["reason"]) for rule in risk["rules"])
    policy = (item.request.get("approval") or {}).get("policy_id")
    ids = item.question.ids
    return (
        *(item.run_id, ids.get("agent_id"), ids.get("parent_tool_call_id")),
        *(item.question.tool_name, risk["level"], reasons, item.request.get("cwd"), policy),
    )
