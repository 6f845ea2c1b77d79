"""Desktop tasks and connected operators."""

from __future__ import annotations

from typing import Annotated, Any, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.channels.operator_messages import Ability
from app.channels.operators import Connected
from app.channels.task_rows import DesktopTask, TaskFilter
from app.core.errors import Conflict, NotFound
from app.core.escaping import visible
from app.core.redaction import Redactor
from app.domain.channels import TaskStatus, Watermark

router = routes_of("admin", below="/admin")

_TASK: dict[str, Any] = {
    "id": "dtk_0123456789abcdef01234567",
    "channel_id": "support",
    "model_channel_id": "desk-agent",
    "app_id": "weixin",
    "action_type": "send-text",
    "target": "Support",
    "text": "We are on it\n[AI]",
    "watermark": "suffix",
    "status": "succeeded",
    "agent_id": "desk",
    "user_id": "ann",
    "session_id": "ses_1",
    "run_id": "run_1",
    "operation_id": "op_7f3a9c000001",
    "operator": "desk-1",
    "created_at": MOMENT,
    "expires_at": MOMENT,
    "result": {"verified": True, "detail": ""},
}
_OPERATOR: dict[str, Any] = {
    "operator": "desk-1",
    "user_id": "desktop-of-ann",
    "apps": [{"app_id": "weixin", "actions": ["send-text"]}],
    "source": "127.0.0.1",
    "connected_at": MOMENT,
}


class AdminDesktopTask(BaseModel):
    """A desktop task. In its `text`, secrets are masked and invisible characters are escaped."""

    model_config = example(**_TASK)

    id: str
    channel_id: str
    model_channel_id: str | None = None
    app_id: str
    action_type: str
    target: str
    text: str
    watermark: Watermark
    status: TaskStatus
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    operation_id: str
    operator: str | None = None
    created_at: str
    expires_at: str
    claimed_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    result: dict[str, Any] | None = None
    code: str | None = Field(default=None, description="Reason why it was not done.")
    error: str | None = None

    @classmethod
    def of(cls, task: DesktopTask, redactor: Redactor) -> Self:
        return cls(
            id=task.id,
            channel_id=task.channel_id,
            model_channel_id=task.model_channel_id,
            app_id=task.app_id,
            action_type=task.action_type,
            target=task.target,
            text=visible(redactor.text(task.text)),
            watermark=task.watermark,
            status=task.status,
            agent_id=task.agent_id,
            user_id=task.user_id,
            session_id=task.session_id,
            run_id=task.run_id,
            operation_id=task.operation_id,
            operator=task.operator,
            created_at=task.created_at,
            expires_at=task.expires_at,
            claimed_at=task.claimed_at,
            started_at=task.started_at,
            finished_at=task.finished_at,
            result=orjson.loads(task.result) if task.result else None,
            code=task.code,
            error=task.error,
        )


class DesktopTaskPage(BaseModel):
    """Desktop tasks, newest first."""

    model_config = example(tasks=[_TASK], next_before=None)

    tasks: list[AdminDesktopTask]
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")


class AdminOperator(BaseModel):
    """An operator that is connected to this process."""

    model_config = example(**_OPERATOR)

    operator: str
    user_id: str = Field(description="Name of the operator's token.")
    apps: list[Ability]
    source: str
    connected_at: str

    @classmethod
    def of(cls, item: Connected) -> Self:
        return cls(
            operator=item.operator.name,
            user_id=item.operator.user_id,
            apps=list(item.operator.apps),
            source=item.source,
            connected_at=item.since,
        )


class OperatorList(BaseModel):
    """Connected operators, in order of connection. Operators that poll over REST are not listed."""

    model_config = example(operators=[_OPERATOR])

    operators: list[AdminOperator]


@router.get("/desktop-tasks", summary="List desktop tasks", responses=problems(NotFound))
async def list_desktop_tasks(
    service: ServiceDep,
    principal: Admin,
    status: Annotated[TaskStatus | None, Query(description="All statuses if omitted.")] = None,
    channel_id: Annotated[str | None, Query(max_length=128)] = None,
    app_id: Annotated[str | None, Query(max_length=64)] = None,
    agent_id: Annotated[str | None, Query(max_length=128)] = None,
    session_id: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        str | None, Query(max_length=128, description="`next_before` of the previous page.")
    ] = None,
) -> DesktopTaskPage:
    """Scope `admin`. Newest first."""
    wanted = TaskFilter(status, channel_id, app_id, agent_id, session_id)
    tasks = await service.channels.desktop.page(wanted, limit=limit, before=before)
    redactor = service.redactor
    return DesktopTaskPage(
        tasks=[AdminDesktopTask.of(task, redactor) for task in tasks],
        next_before=tasks[-1].id if len(tasks) == limit else None,
    )


@router.get("/desktop-tasks/{task_id}", summary="Get a desktop task", responses=problems(NotFound))
async def get_desktop_task(
    task_id: PathId, service: ServiceDep, principal: Admin
) -> AdminDesktopTask:
    """Scope `admin`."""
    task = await service.channels.desktop.get(task_id)
    return AdminDesktopTask.of(task, service.redactor)


@router.post(
    "/desktop-tasks/{task_id}/cancel",
    summary="Withdraw a desktop task",
    responses=problems(NotFound, Conflict),
)
async def cancel_desktop_task(
    task_id: PathId, service: ServiceDep, principal: Admin
) -> AdminDesktopTask:
    """Scope `admin`. A task that an operator has started cannot be withdrawn."""
    task = await service.channels.desktop.cancel(task_id, actor=principal.user_id)
    return AdminDesktopTask.of(task, service.redactor)


@router.get("/desktop-operators", summary="List connected operators", responses=problems())
async def list_desktop_operators(service: ServiceDep, principal: Admin) -> OperatorList:
    """Scope `admin`."""
    found = service.channels.operators.connected()
    return OperatorList(operators=[AdminOperator.of(item) for item in found])
