"""Confirmations and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.approval_context import last_turns
from app.agents.confirmation_queries import ConfirmationArchive, ConfirmationFilter
from app.api.approvers import approver_of, visible_confirmation
from app.api.deps import Approver, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.session_deps import ReadableSession
from app.core.errors import (
    AlreadyApproved,
    AlreadyFinished,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    Conflict,
    DigestMismatch,
    Forbidden,
    NotFound,
)
from app.db.tables import ConfirmationRow
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.confirmation.equal_requests import MAX_EQUAL
from app.governance.approvals.approver import ApprovalTerms

router = routes_of("confirmations")

State = Literal["pending", "approved", "declined", "expired", "cancelled"]
_REQUEST: dict[str, Any] = {
    "tool_name": "bash",
    "title": "bash: git push --force",
    "subject": {"type": "command", "command": "git push --force", "cwd": "/workspace"},
    "digest": "9f86d081884c7d65",
    "options": [
        {"option_id": "decline", "label": "Decline", "kind": "deny"},
        {"option_id": "approve_once", "label": "Approve once", "kind": "allow"},
    ],
}
_VIEW: dict[str, Any] = {
    "confirmation_id": "cfm_1",
    "state": "pending",
    "session_id": "ses_1",
    "run_id": "run_1",
    "tool_call_id": "call_1",
    "operation_id": "op_7f3a9c000001",
    "tool_name": "bash",
    "created_at": MOMENT,
    "request": _REQUEST,
}


class ConfirmationList(BaseModel):
    """Open confirmations of a session, each as its `tool_confirmation_request` event."""

    model_config = example(confirmations=[{"confirmation_id": "cfm_1", **_REQUEST}])

    confirmations: list[dict[str, Any]]


class ConfirmationView(BaseModel):
    """A confirmation and its outcome."""

    model_config = example(**_VIEW)

    confirmation_id: str
    state: State
    session_id: str
    run_id: str | None = None
    agent_id: str | None = None
    tool_call_id: str
    operation_id: str
    tool_name: str
    created_at: str
    expires_at: str | None = None
    request: dict[str, Any] = Field(description="Fields of its `tool_confirmation_request`.")
    option_id: str | None = None
    by: str | None = None
    message: str | None = None
    answered_at: str | None = None

    @classmethod
    def of(cls, row: ConfirmationRow) -> Self:
        request = orjson.loads(row.request)
        return cls(**_fields(row, request))


class EqualConfirmation(BaseModel):
    """Pending confirmation of the same run that asks for equal reasons."""

    model_config = example(confirmation_id="cfm_2", digest="1f86d081884c7d65", title="bash: rm b")

    confirmation_id: str
    digest: str
    title: str


class ConfirmationDetail(ConfirmationView):
    """A confirmation with its outcome and that of its call."""

    model_config = example(**_VIEW, edited=False, equal=[])

    equal: list[EqualConfirmation] = Field(
        description="While it is pending: others that the same answer can cover, with `also`."
    )

    edited: bool = Field(description="Whether a person replaced the arguments.")
    used_at: str | None = Field(default=None, description="Time when the approval was used.")
    call_status: str | None = Field(
        default=None, description="Outcome of the call; `started` while it runs."
    )


class ConfirmationPage(BaseModel):
    """Confirmations, newest first."""

    model_config = example(confirmations=[_VIEW])

    confirmations: list[ConfirmationView]
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")


class ContextMessage(BaseModel):
    """Text of a message."""

    model_config = example(role="user", text="Publish the new version.", at=MOMENT)

    role: str = Field(description="`user` or `assistant`.")
    text: str
    at: str


class ConfirmationContext(BaseModel):
    """What was said before a call, oldest first."""

    model_config = example(
        turns=3, messages=[{"role": "user", "text": "Publish the new version.", "at": MOMENT}]
    )

    turns: int = Field(description="Number of turns that the policy shows; 0 without one.")
    messages: list[ContextMessage]


class ConfirmationAnswer(Body):
    """One of the offered options, with the digest of the call."""

    model_config = example(option_id="approve_once", digest="9f86d081884c7d65")

    option_id: Identifier
    digest: str = Field(min_length=1, max_length=128)
    message: str | None = Field(default=None, max_length=4000, description="Shown to the model.")
    edited_args: dict[str, Any] | None = Field(
        default=None, description="Replaces all arguments; requires `approve_once`."
    )
    expires_in_s: float | None = Field(
        default=None, gt=0, description="Shorter lifetime of a standing approval, in seconds."
    )
    max_uses: int | None = Field(
        default=None, ge=1, le=1000, description="Number of calls that a standing approval covers."
    )
    also: dict[Identifier, Annotated[str, Field(max_length=128)]] = Field(
        default_factory=dict,
        max_length=MAX_EQUAL,
        description="Digests of further confirmations, by ID: those listed in `equal`.",
    )


class ConfirmationAnswered(BaseModel):
    """Outcome of the first valid answer, and of those that it covers too."""

    model_config = example(confirmation_id="cfm_1", outcome="approved")

    confirmation_id: str
    outcome: str = Field(
        description="`approved` or `declined`; `recorded` if further people must approve."
    )
    also: dict[str, str] = Field(
        default_factory=dict, description="Outcomes by confirmation; for a refused one, its code."
    )


@router.get(
    "/sessions/{session_id}/confirmations",
    summary="List open confirmations of a session",
    responses=problems(NotFound),
)
async def list_confirmations(session: ReadableSession, service: ServiceDep) -> ConfirmationList:
    """Scope `chat`."""
    return ConfirmationList(confirmations=service.confirmations.pending(session.id))


@router.get("/confirmations", summary="List confirmations", responses=problems())
async def find_confirmations(
    service: ServiceDep,
    principal: Approver,
    state: Annotated[State | None, Query(description="All states if omitted.")] = None,
    session_id: Annotated[str | None, Query(max_length=128)] = None,
    agent_id: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        str | None, Query(max_length=128, description="`next_before` of the previous page.")
    ] = None,
) -> ConfirmationPage:
    """Scope `approve`, or `approve:<group>`. Newest first.

    Administrators see those of all users; others those of their own sessions and groups, and of
    the users for whom they are a substitute.
    """
    approver = approver_of(principal)
    wanted = ConfirmationFilter(
        state=state,
        session_id=session_id,
        agent_id=agent_id,
        owners=None if principal.is_admin else service.approvals.owners_of(approver),
        groups=service.approvals.groups_of(approver),
        now=service.clock.time(),
        agents=principal.agents,
        projects=principal.projects,
    )
    archive = ConfirmationArchive(service.database)
    rows = await archive.confirmations(wanted, limit=limit, before=before)
    return ConfirmationPage(
        confirmations=[ConfirmationView.of(row) for row in rows],
        next_before=rows[-1].id if len(rows) == limit else None,
    )


@router.get(
    "/confirmations/{confirmation_id}", summary="Get a confirmation", responses=problems(NotFound)
)
async def get_confirmation(
    confirmation_id: PathId, service: ServiceDep, principal: Approver
) -> ConfirmationDetail:
    """Scope `approve`. Includes the outcome of its call."""
    row, _ = await visible_confirmation(service, principal, confirmation_id)
    call = await ConfirmationArchive(service.database).call(row.operation_id)
    return ConfirmationDetail(
        **_fields(row, orjson.loads(row.request)),
        equal=[
            EqualConfirmation(
                confirmation_id=item.confirmation_id, digest=item.digest, title=item.title
            )
            for item in service.confirmations.equal.of(confirmation_id)
        ],
        edited=row.edited_args is not None,
        used_at=row.consumed_at if call is not None else None,
        call_status=None if call is None else call.status,
    )


@router.get(
    "/confirmations/{confirmation_id}/context",
    summary="Get the conversation before a confirmation",
    responses=problems(NotFound),
)
async def get_confirmation_context(
    confirmation_id: PathId, service: ServiceDep, principal: Approver
) -> ConfirmationContext:
    """Scope `approve`. The last turns, as many as the approval policy shows to approvers.

    The texts of messages only, without calls and results; secrets are masked.
    """
    row, _ = await visible_confirmation(service, principal, confirmation_id)
    terms = ApprovalTerms.from_dict(orjson.loads(row.request).get("approval"))
    turns = terms.context_turns if terms else 0
    said = await last_turns(service.archive, service.redactor, row, turns)
    return ConfirmationContext(
        turns=turns,
        messages=[ContextMessage(role=item.role, text=item.text, at=item.at) for item in said],
    )


@router.post(
    "/confirmations/{confirmation_id}",
    summary="Answer a confirmation",
    responses=problems(
        NotFound,
        Forbidden,
        AlreadyFinished,
        Conflict,
        AlreadyApproved,
        ConfirmationAlreadyResolved,
        ConfirmationExpired,
        DigestMismatch,
        body=True,
    ),
)
async def answer_confirmation(
    confirmation_id: PathId, body: ConfirmationAnswer, service: ServiceDep, principal: Approver
) -> ConfirmationAnswered:
    """Scope `approve`; some options also need `admin`, and `edited_args` needs `tools:call`.

    The first valid answer wins. If an approval policy requires several people, one decline ends
    the request, and the call runs after the last approval. Without an answer, it does not run.
    """
    row, owner = await visible_confirmation(service, principal, confirmation_id)
    approver = approver_of(principal, edits=body.edited_args is not None)
    reply = ConfirmationReply(
        *(body.option_id, body.digest, body.message, body.edited_args),
        *(body.expires_in_s, body.max_uses),
    )
    confirmations, session_id = service.confirmations, row.session_id
    confirmations.equal.check(confirmation_id, reply, body.also)
    outcome = await confirmations.answer(
        confirmation_id, reply, approver, session_id=session_id, owner=owner
    )
    also = await confirmations.equal.answer(
        reply, body.also, approver, session_id=session_id, owner=owner
    )
    await service.db.flush()
    return ConfirmationAnswered(confirmation_id=confirmation_id, outcome=outcome, also=also)


def _fields(row: ConfirmationRow, request: dict[str, Any]) -> dict[str, Any]:
    return {
        "confirmation_id": row.id,
        "state": row.status,
        "session_id": row.session_id,
        "run_id": row.run_id,
        "agent_id": row.agent_id,
        "tool_call_id": row.tool_call_id,
        "operation_id": row.operation_id,
        "tool_name": row.tool_name,
        "created_at": row.created_at,
        "expires_at": request.get("expires_at"),
        "request": request,
        "option_id": row.option_id,
        "by": row.answered_by,
        "message": row.message,
        "answered_at": row.answered_at,
    }
