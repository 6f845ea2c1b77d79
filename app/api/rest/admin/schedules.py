"""Schedules of all users, and their occurrences."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field, model_validator

from app.agents.schedules.service import shown
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, start_after
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId, unsent
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.errors import NotFound
from app.core.field_problems import FieldError
from app.core.redaction import Redactor
from app.domain.datetimes import ZoneName
from app.domain.schedules import Occurrence, Schedule, ScheduleInput, ScheduleOwner

router = routes_of("admin", below="/admin")
schedules = Crud(router, "schedules", "schedule_id")

_SCHEDULE: dict[str, Any] = {
    "id": "sch_1",
    "owner": "ann",
    "name": "News",
    "prompt": "Read the news and write down what matters.",
    "cron": "0 9 * * mon-fri",
    "every_seconds": None,
    "at": None,
    "recurring": True,
    "timezone": "Europe/Berlin",
    "missed": "skip",
    "session": "fresh",
    "agent_id": "reader",
    "project_id": "default",
    "expires_at": None,
    "next_at": MOMENT,
    "paused": "",
    "paused_code": None,
    "version": 1,
    "created_at": MOMENT,
}
_SLOT: dict[str, Any] = {
    "id": "slt_1",
    "scheduled_at": MOMENT,
    "trigger": "slot",
    "status": "started",
    "reason": "",
    "reason_code": None,
    "run_id": "run_1",
    "session_id": "ses_1",
    "run_status": "success",
}


Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
Prompt = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
Cron = Annotated[str | None, Field(min_length=1, max_length=200)]
EverySeconds = Annotated[int | None, Field(ge=1, le=31_536_000)]
Moment = Annotated[
    str | None, Field(min_length=1, max_length=40, description="ISO 8601, or `in 10m`.")
]
Zone = ZoneName | None
Missed = Literal["skip", "once"]
SessionPolicy = Literal["fresh", "continue"]
_OF_DRAFT = (
    *("name", "prompt", "cron", "every_seconds", "at", "timezone"),
    *("missed", "session", "expires_at"),
)


class NewSchedule(Body):
    """Schedule to create, with exactly one of `cron`, `every_seconds` and `at`."""

    model_config = example(name="News", prompt="Read the news.", cron="0 9 * * mon-fri")

    name: Name
    prompt: Prompt
    cron: Cron = None
    every_seconds: EverySeconds = None
    at: Moment = None
    timezone: Zone = None
    missed: Missed = "skip"
    session: SessionPolicy = "fresh"
    expires_at: Moment = None
    owner: Identifier | None = Field(
        default=None, description="Owner of the sessions of its runs; defaults to the caller."
    )
    agent_id: Identifier | None = Field(
        default=None, description="Agent that runs it; cannot be changed."
    )
    project_id: Identifier | None = Field(
        default=None, description="Project it works in; cannot be changed."
    )

    @model_validator(mode="after")
    def _has_one_time(self) -> Self:
        if sum(value is not None for value in (self.cron, self.every_seconds, self.at)) != 1:
            raise FieldError(
                "set one of cron, every_seconds and at",
                code="one_of",
                needed="cron, every_seconds, at",
            )
        return self


class ScheduleChange(Body):
    """Fields to change; omitted fields stay. New times apply from now on."""

    model_config = example(cron="0 8 * * *")

    name: Name = unsent()
    prompt: Prompt = unsent()
    cron: Cron = None
    every_seconds: EverySeconds = None
    at: Moment = None
    timezone: Zone = None
    missed: Missed = "skip"
    session: SessionPolicy = "fresh"
    expires_at: Moment = None

    @model_validator(mode="after")
    def _has_one_time_at_most(self) -> Self:
        if sum(value is not None for value in (self.cron, self.every_seconds, self.at)) > 1:
            raise FieldError(
                "set one of cron, every_seconds and at",
                code="one_of",
                needed="cron, every_seconds, at",
            )
        return self


class ScheduleView(BaseModel):
    """A schedule. Sets one of `cron`, `every_seconds` and `at`, or `cron` and its only time."""

    model_config = example(**_SCHEDULE)

    id: str
    owner: str
    name: str
    prompt: str
    cron: str | None
    every_seconds: int | None
    at: str | None
    recurring: bool = Field(description="Whether it repeats.")
    timezone: str
    missed: Literal["skip", "once"]
    session: Literal["fresh", "continue"]
    agent_id: str | None
    project_id: str | None
    expires_at: str | None
    next_at: str | None = Field(description="Null if it does not run again.")
    paused: str = Field(description="Reason why it is paused; empty if it is active.")
    paused_code: str | None = Field(
        description="Stable code for `paused`; null if it is active, or if none was stored."
    )
    version: int
    created_at: str

    @classmethod
    def of(cls, schedule: Schedule, redactor: Redactor) -> Self:
        fields = redactor.values_in(shown(schedule))
        return cls(owner=schedule.owner, **fields)


class ScheduleList(BaseModel):
    """Schedules by name; `total` counts all matches."""

    model_config = example(schedules=[_SCHEDULE], total=1, next_after=None)

    schedules: list[ScheduleView]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class SlotView(BaseModel):
    """An occurrence of a schedule, with its outcome."""

    model_config = example(**_SLOT)

    id: str
    scheduled_at: str
    trigger: Literal["slot", "manual"]
    status: Literal["claimed", "started", "skipped", "missed", "failed"]
    reason: str
    reason_code: str | None = Field(
        description="Stable code for `reason`; null without a reason, or if none was stored."
    )
    run_id: str
    session_id: str
    run_status: str | None = Field(description="Status of its run, if one has started.")

    @classmethod
    def of(cls, slot: Occurrence) -> Self:
        return cls(**{name: getattr(slot, name) for name in cls.model_fields})


class SlotList(BaseModel):
    """Occurrences, newest first."""

    model_config = example(history=[_SLOT])

    history: list[SlotView]


@router.get("/schedules", summary="List schedules", responses=problems())
async def list_schedules(
    service: ServiceDep,
    _: Admin,
    owner: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> ScheduleList:
    """Scope `admin`. Schedules of one user, or of all.

    422: the schedule `after` no longer exists; list again without it.
    """
    found = await service.schedules.all_of(owner)
    start = start_after(after, [item.id for item in found], "schedule")
    page = found[start : start + limit]
    redactor = service.redactor
    return ScheduleList(
        schedules=[ScheduleView.of(item, redactor) for item in page],
        total=len(found),
        next_after=page[-1].id if len(found) > start + limit else None,
    )


@schedules.create("Create a schedule", NotFound)
async def create_schedule(body: NewSchedule, service: ServiceDep, principal: Admin) -> ScheduleView:
    """Scope `admin`. Its runs count against the limits of the caller's token."""
    if body.agent_id is not None:
        service.agents.require(body.agent_id)
    if body.project_id is not None:
        service.projects.about(body.project_id)
    owner = body.owner or principal.user_id
    made = await service.schedules.create(
        ScheduleInput(**{name: getattr(body, name) for name in _OF_DRAFT}),
        ScheduleOwner(owner, body.agent_id, body.project_id, principal.token_id),
        by=principal.user_id,
    )
    return ScheduleView.of(made, service.redactor)


@schedules.read("Get a schedule")
async def get_schedule(schedule_id: PathId, service: ServiceDep, _: Admin) -> ScheduleView:
    """Scope `admin`."""
    found = await service.schedules.get(None, schedule_id)
    return ScheduleView.of(found, service.redactor)


@schedules.change("Update a schedule")
async def change_schedule(
    schedule_id: PathId,
    body: ScheduleChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> ScheduleView:
    """Scope `admin`. Later runs count against the limits of the caller's token."""
    before = await service.schedules.get(None, schedule_id)
    changed = await service.schedules.update(
        ScheduleOwner(before.owner, before.agent_id, before.project_id, principal.token_id),
        schedule_id,
        {name: getattr(body, name) for name in _OF_DRAFT if name in body.model_fields_set},
        by=principal.user_id,
        expected=expected,
    )
    return ScheduleView.of(changed, service.redactor)


@router.get(
    "/schedules/{schedule_id}/history",
    summary="List the occurrences of a schedule",
    responses=problems(NotFound),
)
async def get_schedule_history(
    schedule_id: PathId,
    service: ServiceDep,
    _: Admin,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> SlotList:
    """Scope `admin`. Newest first, with the IDs of sessions and runs."""
    found = await service.schedules.history(None, schedule_id, limit)
    return SlotList(history=[SlotView.of(slot) for slot in found])


@router.post(
    "/schedules/{schedule_id}/pause",
    summary="Pause a schedule",
    responses=problems(NotFound),
)
async def pause_schedule(
    schedule_id: PathId, service: ServiceDep, principal: Admin
) -> ScheduleView:
    """Scope `admin`. An active run continues. Its user cannot resume it."""
    after = await service.schedules.pause(None, schedule_id, paused=True, by=principal.user_id)
    return ScheduleView.of(after, service.redactor)


@router.post(
    "/schedules/{schedule_id}/resume",
    summary="Resume a schedule",
    responses=problems(NotFound),
)
async def resume_schedule(
    schedule_id: PathId, service: ServiceDep, principal: Admin
) -> ScheduleView:
    """Scope `admin`. Continues with its next occurrence; missed ones are not repeated."""
    after = await service.schedules.pause(None, schedule_id, paused=False, by=principal.user_id)
    return ScheduleView.of(after, service.redactor)


@router.post(
    "/schedules/{schedule_id}/run",
    summary="Run a schedule now",
    responses=problems(NotFound),
)
async def run_schedule(schedule_id: PathId, service: ServiceDep, principal: Admin) -> SlotView:
    """Scope `admin`. Runs as its owner and agent, in addition to its regular occurrences."""
    return SlotView.of(await service.schedules.run_now(None, schedule_id, by=principal.user_id))


@schedules.remove("Delete a schedule")
async def delete_schedule(
    schedule_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> ScheduleView:
    """Scope `admin`. Also deletes its history and returns it; an active run continues."""
    gone = await service.schedules.delete(
        None, schedule_id, by=principal.user_id, expected=expected
    )
    return ScheduleView.of(gone, service.redactor)
