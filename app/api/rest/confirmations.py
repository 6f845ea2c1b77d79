"""Questions to a person, and their answers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.api.deps import Approver, ReadableSession, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier, JsonRoute, PathId
from app.api.rest.shapes import example
from app.core.errors import (
    AlreadyFinished,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    DigestMismatch,
    NotFound,
)

router = APIRouter(tags=["confirmations"], route_class=JsonRoute)


class ConfirmationList(BaseModel):
    """Open questions of a session, each as its `tool_confirmation_request` event."""

    model_config = example(
        confirmations=[
            {
                "confirmation_id": "cfm_1",
                "tool_name": "bash",
                "title": "bash: git push --force",
                "digest": "9f86d081884c7d65",
                "options": [{"option_id": "decline", "label": "Decline", "kind": "deny"}],
            }
        ]
    )

    confirmations: list[dict[str, Any]]


class ConfirmationAnswer(Body):
    """One of the offered options, with the digest of the call that it is for."""

    model_config = example(option_id="approve_once", digest="9f86d081884c7d65")

    option_id: Identifier
    digest: str = Field(min_length=1, max_length=128)
    message: str | None = Field(default=None, max_length=4000, description="Read by the model.")


class ConfirmationAnswered(BaseModel):
    """The answer was the first one, and counts."""

    model_config = example(confirmation_id="cfm_1", outcome="approved")

    confirmation_id: str
    outcome: str


@router.get(
    "/sessions/{session_id}/confirmations",
    summary="Open confirmations of a session",
    responses=problems(NotFound),
)
async def list_confirmations(session: ReadableSession, service: ServiceDep) -> ConfirmationList:
    """Scope `chat`."""
    return ConfirmationList(confirmations=service.gate.confirmations.pending(session.id))


@router.post(
    "/confirmations/{confirmation_id}",
    summary="Answer a confirmation",
    responses=problems(
        NotFound,
        AlreadyFinished,
        ConfirmationAlreadyResolved,
        ConfirmationExpired,
        DigestMismatch,
        body=True,
    ),
)
async def answer_confirmation(
    confirmation_id: PathId, body: ConfirmationAnswer, service: ServiceDep, principal: Approver
) -> ConfirmationAnswered:
    """Scope `approve`. The first valid answer wins; no answer means that nothing runs."""
    row = await service.archive.confirmation(confirmation_id)
    session = None if row is None else await service.archive.session_row(row.session_id)
    if row is None or session is None or not principal.may_see(session.user_id):
        raise NotFound(f"No confirmation {confirmation_id!r}", confirmation_id=confirmation_id)
    outcome = await service.gate.confirmations.answer(
        confirmation_id,
        option_id=body.option_id,
        digest=body.digest,
        by=principal.user_id,
        message=body.message,
        session_id=row.session_id,
    )
    await service.gate.ledger.durable()
    return ConfirmationAnswered(confirmation_id=confirmation_id, outcome=outcome)
