"""Sub-agent tasks of sessions: progress, messages to them, and cancellation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.delegations import delegation_of
from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.api.session_deps import ReadableSession, visible_session
from app.core.errors import InvalidInput, NotFound
from app.core.redaction import Redactor
from app.domain.delegation import BatchKind, BatchReport, TaskReport, TaskStatus
from app.tools.delegation.reports import task_data
from app.tools.delegation.task_broadcast import MAX_TEXT

router = routes_of("delegations")

REACHABLE = 500
"""Number of batches in a list; older ones are found by ID."""

BatchStatus = Literal["running", "success", "partial", "error", "cancelled"]
_LINE: dict[str, Any] = {
    "task_id": "tsk_1",
    "label": "counter",
    "status": "success",
    "rounds": 2,
    "run_id": "run_2",
}
_TASK: dict[str, Any] = {
    **_LINE,
    "goal": "Count the files",
    "response": "There are 42.",
    "partial": False,
    "error": None,
    "model": "claude-sonnet-4-5",
    "usage": {"input_tokens": 1200, "output_tokens": 80},
    "calls": [{"tool": "list_dir", "status": "success", "route": "worker-local"}],
    "routes": {"list_dir": "worker-local", "bash": "disabled"},
    "blocked": {"bash": {"code": "subagent_no_shell", "message": "No commands here"}},
    "worker_pid": 4711,
    "started_at": MOMENT,
    "finished_at": MOMENT,
}
_BATCH: dict[str, Any] = {
    "batch_id": "dlg_1",
    "session_id": "ses_1",
    "kind": "task",
    "name": "counter",
    "status": "success",
    "background": False,
    "created_at": MOMENT,
}


class TaskLine(BaseModel):
    """Summary of a task."""

    model_config = example(**_LINE)

    task_id: str
    label: str
    status: TaskStatus
    rounds: int
    run_id: str = Field(description="Run of its sub-agent.")

    @classmethod
    def of(cls, task: TaskReport) -> Self:
        return cls(**{name: getattr(task, name) for name in cls.model_fields})


class DelegatedTask(TaskLine):
    """A task with the calls and the response of its sub-agent."""

    model_config = example(**_TASK)

    goal: str
    response: str = Field(description="Its answer; the incomplete answer while `partial`.")
    partial: bool
    error: dict[str, Any] | None = Field(
        description="`{code, message}` of the error that ended it."
    )
    model: str | None
    usage: dict[str, Any]
    calls: list[dict[str, Any]] = Field(
        description="`{tool, status, route}` and the IDs of each call."
    )
    routes: dict[str, str] = Field(
        description="Where each tool runs: `worker-local`, `main-process-proxy` or `disabled`."
    )
    blocked: dict[str, Any] = Field(description="Reasons why tools are disabled.")
    worker_pid: int | None = Field(description="Process of its loop.")
    started_at: str | None
    finished_at: str | None

    @classmethod
    def of(cls, task: TaskReport) -> Self:
        data = task_data(task)
        return cls(**{name: data[name] for name in cls.model_fields})


class BatchLine(BaseModel):
    """Summary of a batch: tasks that were delegated together."""

    model_config = example(**_BATCH, tasks=[_LINE])

    batch_id: str
    session_id: str
    kind: BatchKind
    name: str
    status: BatchStatus
    background: bool
    created_at: str
    tasks: list[TaskLine] = Field(description="In the order they were submitted.")

    @classmethod
    def of(cls, batch: BatchReport) -> Self:
        return cls(**_head(batch), tasks=[TaskLine.of(task) for task in batch.tasks])


class DelegatedBatch(BaseModel):
    """A batch of tasks that were delegated together; for a task's ID, only that task."""

    model_config = example(**_BATCH, tasks=[_TASK])

    batch_id: str
    session_id: str
    kind: BatchKind
    name: str
    status: BatchStatus
    background: bool
    created_at: str
    tasks: list[DelegatedTask]

    @classmethod
    def of(cls, batch: BatchReport, redactor: Redactor) -> Self:
        tasks = [DelegatedTask.of(task).model_dump() for task in batch.tasks]
        return cls(**redactor.secrets_in({**_head(batch), "tasks": tasks}))


class DelegationPage(BaseModel):
    """Batches, newest first."""

    model_config = example(delegations=[{**_BATCH, "tasks": [_LINE]}], next_before=None)

    delegations: list[BatchLine]
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")

    @classmethod
    def of(cls, found: Sequence[BatchReport], redactor: Redactor, *, more: bool) -> Self:
        lines = redactor.secrets_in([BatchLine.of(batch).model_dump() for batch in found])
        return cls(
            delegations=[BatchLine(**line) for line in lines],
            next_before=found[-1].batch_id if more else None,
        )


class Broadcast(Body):
    """Message for running sub-agents."""

    model_config = example(text="The deadline is noon.")

    text: str = Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")
    batch_id: Identifier | None = Field(default=None, description="Only the tasks of this batch.")


class BroadcastSent(BaseModel):
    """Sub-agents that were notified; each reads the message before its next step."""

    model_config = example(task_ids=["tsk_1"])

    task_ids: list[str]


Limit = Annotated[int, Query(ge=1, le=200)]
Running = Annotated[bool, Query(description="Only active ones.")]
Before = Annotated[
    str | None, Query(max_length=128, description="`next_before` of the previous page.")
]


@router.get(
    "/sessions/{session_id}/delegations",
    summary="List sub-agent tasks of a session",
    responses=problems(NotFound),
)
async def list_delegations(
    session: ReadableSession,
    service: ServiceDep,
    running: Running = False,  # noqa: FBT002 - a query parameter
    limit: Limit = 50,
    before: Before = None,
) -> DelegationPage:
    """Scope `chat`. Newest first, among the last 500 batches."""
    return await page_of(service, session.id, running=running, limit=limit, before=before)


@router.get(
    "/delegations/{delegation_id}",
    summary="Get a batch or task",
    responses=problems(NotFound),
)
async def get_delegation(
    delegation_id: PathId, service: ServiceDep, principal: Chatter
) -> DelegatedBatch:
    """Scope `chat`. For a task's ID, its batch with only that task."""
    found = await _visible(service, principal, delegation_id)
    return DelegatedBatch.of(found, service.redactor)


@router.post(
    "/delegations/{delegation_id}/cancel",
    summary="Cancel a batch or task",
    responses=problems(NotFound),
)
async def cancel_delegation(
    delegation_id: PathId, service: ServiceDep, principal: Chatter
) -> DelegatedBatch:
    """Scope `chat`. Completed work is not undone. Harmless if it has already ended."""
    found = await _visible(service, principal, delegation_id)
    after = await delegation_of(service).cancel(delegation_id, session_id=found.session_id)
    return DelegatedBatch.of(after, service.redactor)


@router.post(
    "/sessions/{session_id}/delegations/broadcast",
    summary="Send a message to the sub-agents of a session",
    responses=problems(NotFound, body=True),
)
async def broadcast_to_subagents(
    session: ReadableSession, body: Broadcast, service: ServiceDep
) -> BroadcastSent:
    """Scope `chat`. Each running sub-agent is notified once."""
    task_ids = await delegation_of(service).broadcast(
        body.text, session_id=session.id, batch_id=body.batch_id
    )
    return BroadcastSent(task_ids=task_ids)


async def page_of(
    service: Service, session_id: str | None, *, running: bool, limit: int, before: str | None
) -> DelegationPage:
    """Return a page of batches, of one session or of all.

    Raises:
        InvalidInput: `before` is not in the list.
    """
    # One more shows whether there is another page.
    reach = limit + 1 if before is None else REACHABLE
    found = await delegation_of(service).reports(
        session_id=session_id, running=running, limit=reach
    )
    start = 0 if before is None else _index_of(before, found) + 1
    page = found[start : start + limit]
    return DelegationPage.of(page, service.redactor, more=len(found) > start + limit)


def _index_of(before: str, found: Sequence[BatchReport]) -> int:
    for place, batch in enumerate(found):
        if batch.batch_id == before:
            return place
    message = f"before: batch {before!r} is no longer in this list; list again without it"
    raise InvalidInput(message, field="query.before")


async def _visible(service: Service, principal: Principal, delegation_id: str) -> BatchReport:
    """Return the batch or task with an ID.

    Raises:
        NotFound: it does not exist, or the principal may not see it.
    """
    message = f"Sub-agent task {delegation_id!r} not found"
    try:
        found = await delegation_of(service).report(delegation_id, session_id=None)
        await visible_session(service, principal, found.session_id)
    except NotFound:
        raise NotFound(message, delegation_id=delegation_id) from None
    return found


def _head(batch: BatchReport) -> dict[str, Any]:
    names = ("batch_id", "session_id", "kind", "name", "status", "background", "created_at")
    return {name: getattr(batch, name) for name in names}
