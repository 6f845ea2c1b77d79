"""Desktop operators without a WebSocket: poll, claim, start, report, finish."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path
from pydantic import BaseModel, Field
from starlette.requests import Request

from app.api.deps import DesktopOperator, ServiceDep
from app.api.desktop_operators import OperatorRates, key_of
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import Body
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.channels import operator_messages as messages
from app.channels.operators import Operator, TokenHolder
from app.core.errors import Busy, Conflict, NotFound, RateLimited

router = routes_of("desktop", below="/desktop")

_TASK_ID = "dtk_0123456789abcdef01234567"
_CLAIM_ID = "clm_0123456789abcdef01234567"
_WHO: dict[str, Any] = {
    "operator": "desk-1",
    "apps": [{"app_id": "weixin", "actions": ["send-text"]}],
}
_WAITING: dict[str, Any] = {
    "task_id": _TASK_ID,
    "app_id": "weixin",
    "action_type": "send-text",
    "expires_at": MOMENT,
}
_TASK: dict[str, Any] = {
    **_WAITING,
    "claim_id": _CLAIM_ID,
    "target": "Support",
    "text": "We are on it\n[AI]",
    "lease_s": 30.0,
}


async def holder(request: Request, service: ServiceDep, principal: DesktopOperator) -> Principal:
    """Return the operator's principal, after counting the request against its rate limit.

    Raises:
        RateLimited: the operator has sent too many requests.
    """
    rates: OperatorRates = request.app.state.operator_rates
    settings = service.settings
    rates.spend(key_of(principal), settings.command_rate, settings.command_burst)
    return principal


Caller = Annotated[Principal, Depends(holder)]
TaskPath = Annotated[str, Path(pattern=r"^dtk_[0-9a-f]{24}$", examples=[_TASK_ID])]


class OperatorBody(Body):
    """An operator with its capabilities."""

    model_config = example(**_WHO)

    operator: messages.Name
    apps: messages.Abilities


class ClaimBody(OperatorBody):
    """Task to claim; the oldest if none is named."""

    model_config = example(**_WHO)

    task_id: messages.TaskId | None = None


class HeldBody(Body):
    """Claim of the task."""

    model_config = example(claim_id=_CLAIM_ID)

    claim_id: messages.ClaimId


class ProgressBody(HeldBody, messages.OperatorProgress):
    """Progress of a task."""

    model_config = example(claim_id=_CLAIM_ID, stage="pasting")


class CompleteBody(HeldBody, messages.Done):
    """Report that the text was sent."""

    model_config = example(claim_id=_CLAIM_ID, verified=True)


class FailBody(HeldBody, messages.Failed):
    """Report that the text was not sent."""

    model_config = example(claim_id=_CLAIM_ID, code="window_not_found")


class WaitingTasks(BaseModel):
    """Tasks that the operator may claim, oldest first."""

    model_config = example(tasks=[_WAITING])

    tasks: list[messages.WaitingTask]


class ClaimedTask(BaseModel):
    """Claimed task; null if there was none."""

    model_config = example(task=_TASK)

    task: messages.TaskForOperator | None


class HeldTask(BaseModel):
    """Acknowledgement of an operator's report."""

    model_config = example(task_id=_TASK_ID, lease_s=30.0)

    task_id: str
    lease_s: float = Field(description="Seconds within which the operator must report again.")


_HELD = problems(NotFound, Conflict, RateLimited, body=True)


@router.post("/poll", summary="List waiting tasks", responses=problems(RateLimited, body=True))
async def poll_desktop_tasks(
    body: OperatorBody, service: ServiceDep, principal: Caller
) -> WaitingTasks:
    """Scope `desktop`. Only a claim returns the content of a task."""
    operator = _operator(body, principal)
    return WaitingTasks(tasks=await service.channels.operators.waiting(operator))


@router.post("/claim", summary="Claim a task", responses=problems(Busy, RateLimited, body=True))
async def claim_desktop_task(
    body: ClaimBody, service: ServiceDep, principal: Caller
) -> ClaimedTask:
    """Scope `desktop`. Claims are exclusive; an operator can hold one task at a time."""
    operator = _operator(body, principal)
    return ClaimedTask(task=await service.channels.operators.claim(operator, body.task_id))


@router.post("/tasks/{task_id}/start", summary="Request permission to send", responses=_HELD)
async def start_desktop_task(
    task_id: TaskPath, body: HeldBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`. The operator may send only after a successful response."""
    desk = service.channels.operators
    await desk.start(_holder(principal), _claim(task_id, body))
    return HeldTask(task_id=task_id, lease_s=desk.lease_s)


@router.post("/tasks/{task_id}/heartbeat", summary="Renew the lease of a task", responses=_HELD)
async def keep_desktop_task(
    task_id: TaskPath, body: HeldBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`."""
    desk = service.channels.operators
    await desk.beat(_holder(principal), _claim(task_id, body))
    return HeldTask(task_id=task_id, lease_s=desk.lease_s)


@router.post("/tasks/{task_id}/progress", summary="Report progress", responses=_HELD)
async def report_desktop_task(
    task_id: TaskPath, body: ProgressBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`."""
    desk = service.channels.operators
    progress = messages.OperatorProgress(stage=body.stage, message=body.message)
    await desk.progress(_holder(principal), _claim(task_id, body), progress)
    return HeldTask(task_id=task_id, lease_s=desk.lease_s)


@router.post("/tasks/{task_id}/complete", summary="Report that it was sent", responses=_HELD)
async def complete_desktop_task(
    task_id: TaskPath, body: CompleteBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`. The task must have been started."""
    done = messages.Done(verified=body.verified, detail=body.detail)
    desk = service.channels.operators
    await desk.complete(_holder(principal), _claim(task_id, body), done)
    return HeldTask(task_id=task_id, lease_s=0)


@router.post("/tasks/{task_id}/fail", summary="Report that it was not sent", responses=_HELD)
async def fail_desktop_task(
    task_id: TaskPath, body: FailBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`. The task is not offered to other operators afterwards."""
    failed = messages.Failed(code=body.code, detail=body.detail)
    desk = service.channels.operators
    await desk.fail(_holder(principal), _claim(task_id, body), failed)
    return HeldTask(task_id=task_id, lease_s=0)


@router.post("/tasks/{task_id}/release", summary="Release a task", responses=_HELD)
async def release_desktop_task(
    task_id: TaskPath, body: HeldBody, service: ServiceDep, principal: Caller
) -> HeldTask:
    """Scope `desktop`. Other operators can claim it again. It must not have been started."""
    await service.channels.operators.release(_holder(principal), _claim(task_id, body))
    return HeldTask(task_id=task_id, lease_s=0)


def _holder(principal: Principal) -> TokenHolder:
    return TokenHolder(user_id=principal.user_id, key=key_of(principal))


def _operator(body: OperatorBody, principal: Principal) -> Operator:
    return Operator(
        user_id=principal.user_id, key=key_of(principal), name=body.operator, apps=body.apps
    )


def _claim(task_id: str, body: HeldBody) -> messages.Claim:
    return messages.Claim(task_id=task_id, claim_id=body.claim_id)
