"""Runs, and the messages that start them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field, WithJsonSchema

from app.agents.content import user_content
from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.rest.schemas import MessageAccepted, RunCancelled, RunList, RunView
from app.api.session_deps import ReadableSession
from app.core.errors import Busy, InvalidInput, NotFound

router = routes_of("runs")

_CONTENT_SCHEMA = {
    "description": "Text, or blocks `{type: text, text}` and `{type: image, source}`.",
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": 100},
    ],
}
Content = Annotated[Any, WithJsonSchema(_CONTENT_SCHEMA)]


class NewMessage(Body):
    """Message from the user."""

    model_config = example(content="What is 6*7?")

    content: Content
    when_busy: Literal["reject", "queue", "steer"] = Field(
        default="reject",
        description="While a run is active: refuse, queue after it, or notify the running agent.",
    )
    agent_id: Identifier | None = Field(
        default=None, description="Agent of this run; defaults to the session's agent."
    )
    tools_enabled: bool = Field(
        default=True, description="False to let the model answer without tools in this run."
    )
    client_message_id: Identifier | None = Field(
        default=None, description="Returned in the `message_completed` event."
    )


@router.post(
    "/sessions/{session_id}/messages",
    status_code=202,
    summary="Send a message and start a run",
    responses=problems(NotFound, Busy, body=True),
)
async def send_message(
    session_id: PathId, body: NewMessage, service: ServiceDep, principal: Chatter
) -> MessageAccepted:
    """Scope `chat`. The answer arrives as events; the run continues if the client disconnects."""
    if not isinstance(body.content, str | list) or not all(
        isinstance(block, dict) for block in body.content if not isinstance(body.content, str)
    ):
        raise InvalidInput("content must be text or a list of blocks", field="body.content")
    content = user_content(body.content)
    if body.agent_id is not None:
        principal.require_agent(body.agent_id)
    session = await service.session_for(principal, session_id)
    run_id, message_id = await service.runs.send_message(
        session,
        content,
        client_message_id=body.client_message_id,
        when_busy=body.when_busy,
        agent_id=body.agent_id,
        quota_subject=principal.quota_subject,
        tools_enabled=body.tools_enabled,
    )
    await service.db.flush_with_retry()
    return MessageAccepted(run_id=run_id, message_id=message_id)


@router.get(
    "/sessions/{session_id}/runs",
    summary="List the runs of a session",
    responses=problems(NotFound),
)
async def list_runs(
    session: ReadableSession,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> RunList:
    """Scope `chat`. Newest first. The run of a waiting message is `queued`."""
    rows = await service.archive.runs(session.id, limit=limit)
    return RunList(runs=[RunView.of(row) for row in rows])


@router.get(
    "/sessions/{session_id}/runs/{run_id}", summary="Get a run", responses=problems(NotFound)
)
async def get_run(run_id: PathId, session: ReadableSession, service: ServiceDep) -> RunView:
    """Scope `chat`."""
    row = await service.archive.run(run_id)
    if row is None or row.session_id != session.id:
        raise NotFound(f"Run {run_id!r} not found in this session", run_id=run_id)
    return RunView.of(row)


@router.post(
    "/sessions/{session_id}/runs/{run_id}/cancel",
    summary="Cancel a run",
    responses=problems(NotFound),
)
async def cancel_run(run_id: PathId, session: ReadableSession, service: ServiceDep) -> RunCancelled:
    """Scope `chat`. Responds immediately; `run_finished` reports when everything has stopped."""
    stopping = await service.runs.cancel(session.id, run_id)
    if not stopping:
        await get_run(run_id, session, service)
    return RunCancelled(run_id=run_id, already_finished=not stopping)
