"""Progress of a session's tools over time, rebuilt from stored reports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from app.agents.timeline import OperationTimeline, Timelines
from app.api.deps import ServiceDep
from app.api.errors import problems
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.json_lines import MEDIA_TYPE, documented_lines
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.api.session_deps import ReadableSession
from app.core.errors import InvalidInput, NotFound
from app.execution.operation_logs import OperationLogs, operation_logs_of

router = routes_of("events")

CHUNK = 256 << 10
_STAGE: dict[str, Any] = {
    "stage": "download",
    "status": "completed",
    "started_at": MOMENT,
    "ended_at": MOMENT,
    "message": "3 of 3 files",
    "percent": 100.0,
    "current": 3.0,
    "total": 3.0,
    "unit": "files",
    "reports": 4,
}
_OPERATION: dict[str, Any] = {
    "operation_id": "op_7f3a9c000001",
    "tool_call_id": "call_1",
    "tool_name": "crawl_batch",
    "run_id": "run_1",
    "agent_id": None,
    "parent_tool_call_id": None,
    "status": "success",
    "started_at": MOMENT,
    "ended_at": MOMENT,
    "execution_time": 1.5,
    "source": "sampled",
    "stages": [_STAGE],
    "left_out": 0,
}
_LINES = documented_lines(
    "JSON lines; `x-log-size` is the total number of bytes.",
    '{"ts":"2026-11-21T09:30:00.000Z","op_seq":1,"stage":"download"}\n',
)


class StageView(BaseModel):
    """A named stage of a call."""

    model_config = example(**_STAGE)

    stage: str
    status: str = Field(
        description="`running`, `completed`, `failed`; `interrupted` if its end was not reported."
    )
    started_at: str
    ended_at: str | None
    message: str | None = Field(description="The last report.")
    percent: float | None
    current: float | None
    total: float | None
    unit: str | None
    reports: int = Field(description="Number of reports known.")


class OperationView(BaseModel):
    """A call that reported progress."""

    model_config = example(**_OPERATION)

    operation_id: str
    tool_call_id: str | None
    tool_name: str | None
    run_id: str | None = Field(description="Run of the call; a sub-agent has its own.")
    agent_id: str | None
    parent_tool_call_id: str | None = Field(
        description="Call that delegated this one to a sub-agent."
    )
    status: str = Field(description="As in the call's record; `running` while active.")
    started_at: str | None
    ended_at: str | None
    execution_time: float | None = Field(description="Duration in seconds.")
    source: Literal["complete", "sampled"] = Field(
        description="Whether it includes every report, or only the samples in the session's log."
    )
    stages: list[StageView]
    left_out: int = Field(description="Number of stages beyond the first 500.")

    @classmethod
    def of(cls, call: OperationTimeline) -> Self:
        return cls.model_validate(asdict(call))


class TimelineView(BaseModel):
    """Calls that reported progress, in the order of their first report."""

    model_config = example(operations=[_OPERATION], next_after=None)

    operations: list[OperationView]
    next_after: int | None = Field(
        description="Cursor: `after` of the next page; null on the last."
    )


@router.get(
    "/sessions/{session_id}/timeline",
    summary="List the progress reports of a session's tools",
    responses=problems(NotFound),
)
async def get_timeline(
    session: ReadableSession,
    service: ServiceDep,
    after: Annotated[
        int, Query(ge=0, le=2**62, description="`next_after` of the previous page.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    operation_id: Annotated[
        str | None,
        Query(max_length=128, description="Only this call, with all stored reports."),
    ] = None,
) -> TimelineView:
    """Scope `chat`. Stages with their times, from stored data that survives a restart.

    The calls of sub-agents are included in the session that delegated to them.
    """
    timelines = Timelines(service.archive, _logs(service))
    running = service.executor.running(session.id)
    if operation_id is not None:
        call = await timelines.of_operation(
            session.id, session.epoch, operation_id, running=running
        )
        return TimelineView(operations=[OperationView.of(call)], next_after=None)
    page = await timelines.of_session(
        session.id, session.epoch, after=after, limit=limit, running=running
    )
    return TimelineView(
        operations=[OperationView.of(call) for call in page.operations],
        next_after=page.next_after,
    )


@router.get(
    "/sessions/{session_id}/operations/{operation_id}/progress",
    summary="Download all progress reports of a call",
    response_class=Response,
    responses={**problems(NotFound), 200: _LINES},
)
async def get_progress(
    session: ReadableSession,
    operation_id: PathId,
    service: ServiceDep,
    offset: Annotated[int, Query(ge=0, le=2**62, description="First byte to return.")] = 0,
    limit: Annotated[
        int | None, Query(ge=1, le=2**62, description="Maximum number of bytes.")
    ] = None,
) -> Response:
    """Scope `chat`. JSON lines, oldest first; a truncated log ends with `truncated`."""
    logs = _logs(service)
    # The ID becomes a file name, so it must be a generated one of this session.
    is_known = await Timelines(service.archive, logs).owns(session.id, session.epoch, operation_id)
    size = await logs.size(operation_id) if is_known else None
    if size is None:
        raise NotFound(
            f"No progress reports of {operation_id!r}: it made none, or they were deleted",
            operation_id=operation_id,
        )
    if offset > size:
        raise InvalidInput(f"The log has only {size} bytes", field="query.offset")
    end = size if limit is None else min(size, offset + limit)
    headers = {"x-log-size": str(size), "cache-control": "private, no-store"}
    pieces = _pieces(logs, operation_id, offset, end)
    return StreamingResponse(pieces, media_type=MEDIA_TYPE, headers=headers)


async def _pieces(
    logs: OperationLogs, operation_id: str, offset: int, end: int
) -> AsyncIterator[bytes]:
    while offset < end:
        piece = await logs.read(operation_id, offset=offset, limit=min(CHUNK, end - offset))
        if not piece:
            return
        yield piece
        offset += len(piece)


def _logs(service: Service) -> OperationLogs:
    return operation_logs_of(service.settings)
