"""Sessions, their messages, calls and snapshots."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from app.agents.session_finder import SessionFinder, SessionMatches
from app.agents.sessions import BUSINESS, UNTITLED
from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import example
from app.api.rest.headers import MADE, show_place
from app.api.rest.routing import routes_of
from app.api.rest.schemas import (
    ActiveRun,
    CallList,
    HistoryForm,
    MessageList,
    MessageView,
    SessionHit,
    SessionPage,
    SessionView,
    Snapshot,
    StoredCall,
)
from app.api.session_deps import ReadableSession, visible_session
from app.core.errors import Busy, NotFound
from app.core.field_problems import FieldError
from app.core.text import dump_json
from app.db.process_samples import PROCESSES
from app.db.tables import SessionRow
from app.execution.projects import DEFAULT_PROJECT

router = routes_of("sessions")

_MODEL = frozenset({"model", "max_tokens", "temperature"})
Kind = Literal["chat", "direct", "all"]
Title = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


Model = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="Null for the agent's or the service's model."),
]
MaxTokens = Annotated[
    int | None, Field(ge=1, le=1_000_000, description="Maximum output tokens; null as for `model`.")
]
Temperature = Annotated[
    float | None, Field(ge=0, le=2, strict=False, description="Null as for `model`.")
]

_MAX_BUSINESS_BYTES = 8192
ChannelId = Annotated[str, Field(min_length=1, max_length=128)]


class CurrentAgent(BaseModel):
    """Agent as named by the channel; additional facts are stored unchanged."""

    model_config = ConfigDict(extra="allow", strict=True)

    modelChannelId: ChannelId | None = None  # noqa: N815 - the seeds' name


class BusinessContext(BaseModel):
    """Business context (`bizContext` of the seeds); additional facts are stored unchanged, at most
    8 KiB of JSON in total.
    """

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra={
            "examples": [{"channelId": "wx_1", "currentAgent": {"modelChannelId": "m_1"}}]
        },
    )

    channelId: ChannelId | None = Field(  # noqa: N815 - the seeds' name
        default=None, description="Takes precedence over the channel named by a call."
    )
    currentAgent: CurrentAgent | None = None  # noqa: N815 - the seeds' name

    @model_validator(mode="after")
    def _is_small(self) -> BusinessContext:
        if len(dump_json(self.facts())) > _MAX_BUSINESS_BYTES:
            raise FieldError(
                f"must not exceed {_MAX_BUSINESS_BYTES} bytes as JSON",
                code="too_large",
                max_length=_MAX_BUSINESS_BYTES,
            )
        return self

    def facts(self) -> dict[str, Any]:
        """Return the submitted facts."""
        return self.model_dump(exclude_unset=True)


class NewSession(Body):
    """Initial fields of a session."""

    model_config = example(title="Arithmetic", project_id="default")

    title: Title | None = Field(
        default=None, description="Generated from the first message if omitted."
    )
    project_id: Identifier | None = Field(
        default=DEFAULT_PROJECT, description="Workspace of its tools; null for none."
    )
    agent_id: Identifier | None = None
    model: Model = None
    max_tokens: MaxTokens = None
    temperature: Temperature = None
    kind: Literal["chat", "direct"] = Field(
        default="chat",
        description="`direct`: for calls without a model; hidden from lists of chats.",
    )
    business: BusinessContext | None = Field(
        default=None,
        description="Requires the scope `admin`: details of the calling channel for its tools.",
    )


class SessionChange(Body):
    """Fields to change; omitted fields stay.

    Model settings apply from the next request on, and to sub-agents started after that.
    """

    model_config = example(title="Arithmetic", temperature=0.2)

    title: Title = unsent()
    model: Model = None
    max_tokens: MaxTokens = None
    temperature: Temperature = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            fields = ", ".join(type(self).model_fields)
            raise FieldError(f"set at least one of {fields}", code="some_of", needed=fields)
        return self


class Branch(Body):
    """Position of the next message."""

    model_config = example(entry_id="msg_1")

    entry_id: Identifier | None = Field(
        description="Parent of the next message; null to start a new branch."
    )


@router.post(
    "/sessions",
    status_code=201,
    summary="Create a session",
    responses={**MADE, **problems(NotFound, body=True)},
)
async def create_session(
    body: NewSession, service: ServiceDep, principal: Chatter, request: Request, response: Response
) -> SessionView:
    """Scope `chat`. 404: unknown project or agent; 403: the token may not use it, or `business`."""
    if body.business is not None:
        # These facts select the recipient of texts and take precedence over arguments of a call.
        principal.require("admin")
    principal.require_agent(body.agent_id)
    principal.require_project(body.project_id)
    if body.project_id is not None:
        service.projects.get(body.project_id)
    if body.agent_id is not None:
        service.agents.require(body.agent_id)
    session = service.sessions.create(
        user_id=principal.user_id,
        kind=body.kind,
        title=service.redactor.text(body.title or UNTITLED),
        project_id=body.project_id,
        agent_id=body.agent_id,
        model=body.model,
        max_tokens=body.max_tokens,
        temperature=body.temperature,
        meta={BUSINESS: body.business.facts()} if body.business else None,
    )
    await service.db.flush()
    show_place(request, response, session.id)
    return SessionView.of(await visible_session(service, principal, session.id))


@router.get("/sessions", summary="List sessions", responses=problems())
async def list_sessions(
    service: ServiceDep,
    principal: Chatter,
    kind: Annotated[Kind, Query(description="Include sessions of direct calls.")] = "chat",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        str | None, Query(max_length=40, description="`next_before` of the previous page.")
    ] = None,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=r"\S",
            description="Words that all occur in the title, or all in one message.",
        ),
    ] = None,
) -> SessionPage:
    """Scope `chat`. Last used first. Administrators see those of all users.

    A search reads a thousand sessions per request, and may return fewer than `limit` or none;
    `next_before` continues it.
    """

    async def page(most: int, after: str | None) -> list[SessionRow]:
        return await service.archive.sessions(
            None if "admin" in principal.scopes else principal.user_id,
            kind=None if kind == "all" else kind,
            limit=most,
            before=after,
            agents=principal.agents,
            projects=principal.projects,
        )

    if q is None:
        rows = await page(limit, before)
        found = SessionMatches(rows, next_before=rows[-1].id if len(rows) == limit else None)
    else:
        finder = SessionFinder(service.archive, service.redactor)
        found = await finder.find(q.split(), page, limit=limit, before=before)
    return SessionPage(
        sessions=[SessionView.of(row) for row in found.sessions],
        hits=[SessionHit.of(hit) for hit in found.hits],
        next_before=found.next_before,
    )


@router.get("/sessions/{session_id}", summary="Get a session", responses=problems(NotFound))
async def get_session(session: ReadableSession) -> SessionView:
    """Scope `chat`. 404 for sessions of other users, except for administrators."""
    return SessionView.of(session)


@router.patch(
    "/sessions/{session_id}",
    summary="Update a session",
    responses=problems(NotFound, body=True),
)
async def change_session(
    session_id: PathId, body: SessionChange, service: ServiceDep, principal: Chatter
) -> SessionView:
    """Scope `chat`. Changes the title and the model settings."""
    session = await service.session_for(principal, session_id)
    given = body.model_fields_set
    if "title" in given:
        service.sessions.rename(session, service.redactor.text(body.title))
    if given & _MODEL:
        kept = {name: getattr(body if name in given else session, name) for name in _MODEL}
        service.sessions.set_model(session, **kept)
    await service.db.flush()
    return SessionView.of(await visible_session(service, principal, session_id))


@router.get(
    "/sessions/{session_id}/messages",
    summary="List the messages of a session",
    responses=problems(NotFound),
)
async def list_messages(
    session: ReadableSession,
    service: ServiceDep,
    tree: Annotated[bool, Query(description="All branches, in the order of creation.")] = False,  # noqa: FBT002 - a query parameter
) -> MessageList:
    """Scope `chat`. The active branch, root first, or all branches with `tree`."""
    leaf = session.leaf_entry_id
    archive, redactor = service.archive, service.redactor
    rows = await archive.entries(session.id) if tree else await archive.path(session.id, leaf)
    return MessageList(leaf_entry_id=leaf, messages=[MessageView.of(row, redactor) for row in rows])


@router.post(
    "/sessions/{session_id}/branch",
    summary="Continue from an earlier message",
    responses=problems(NotFound, Busy, body=True),
)
async def branch_session(
    session_id: PathId, body: Branch, service: ServiceDep, principal: Chatter
) -> SessionView:
    """Scope `chat`. The next message becomes a sibling of what followed; nothing is deleted."""
    await visible_session(service, principal, session_id)
    if body.entry_id is not None:
        entries = await service.archive.entries(session_id)
        if all(entry.id != body.entry_id for entry in entries):
            raise NotFound(
                f"Message {body.entry_id!r} not found in this session", entry_id=body.entry_id
            )
    # No await may come between checking for a run and moving the branch, or a run could start.
    session = await service.session_for(principal, session_id)
    active = service.runs.active(session_id)
    if active is not None:
        raise Busy("A run is active in this session; wait for it or cancel it", run_id=active.id)
    service.sessions.branch(session, body.entry_id)
    await service.db.flush()
    return SessionView.of(await visible_session(service, principal, session_id))


@router.get(
    "/sessions/{session_id}/calls",
    summary="List the tool calls of a session",
    responses=problems(NotFound),
)
async def list_calls(
    session: ReadableSession,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
    result: HistoryForm = "all",
) -> CallList:
    """Scope `chat`. Oldest first, as unified records."""
    rows = await service.archive.calls(session.id, limit=limit, after=after)
    return CallList(
        calls=[StoredCall.of(row, result) for row in rows],
        next_after=rows[-1].operation_id if len(rows) == limit else None,
    )


@router.get(
    "/sessions/{session_id}/snapshot",
    summary="Get a snapshot of a session",
    responses=problems(NotFound),
)
async def get_snapshot(
    session: ReadableSession, service: ServiceDep, principal: Chatter
) -> Snapshot:
    """Scope `chat`. Clients load it if they lose their position in the event log."""
    stored = await service.archive.load(session.id)
    seq = stored[1] if stored else 0
    # The position is read before the messages: an event in between is replayed, never missed.
    row = await visible_session(service, principal, session.id)
    messages = await service.archive.path(row.id, row.leaf_entry_id)
    active = service.runs.active(row.id)
    redactor = service.redactor
    return Snapshot(
        session=SessionView.of(row),
        messages=[MessageView.of(entry, redactor) for entry in messages],
        epoch=row.epoch,
        seq=seq,
        pending_confirmations=service.confirmations.pending(row.id),
        pending_questions=service.questions.pending(row.id),
        running_calls=service.executor.running(row.id),
        processes=orjson.loads(row.meta).get(PROCESSES, []),
        active_run=active
        and ActiveRun(run_id=active.id, trigger=active.trigger, started_at=active.started_at),
    )
