"""Schedules, their occurrences and their service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

from app.domain.owners import owner_of
from app.domain.recurrence import Timing
from app.toolkit.context import ToolContext

SCHEDULES = "schedule_book"

MissedPolicy = Literal["skip", "once"]
SessionPolicy = Literal["fresh", "continue"]
SlotStatus = Literal["claimed", "started", "skipped", "missed", "failed"]


@dataclass(frozen=True, slots=True)
class ScheduleOwner:
    """Owner of schedules that a call may see and change: those with the same user, agent and
    project.

    Schedules of the same user with another agent or project are excluded: changing their prompt
    would use rights that the call does not have.
    """

    user_id: str
    agent_id: str | None
    project_id: str | None
    token_id: str | None

    @classmethod
    def of(cls, ctx: ToolContext) -> Self:
        """Return the owner of a call. Raises: `ToolFailed` with code `no_user` without a user."""
        return cls(owner_of(ctx), ctx.agent_id, ctx.project_id, ctx.token_id)

    def keeps(self, schedule: Schedule) -> bool:
        """Return whether a schedule belongs to this owner."""
        theirs = (schedule.owner, schedule.agent_id, schedule.project_id)
        return theirs == (self.user_id, self.agent_id, self.project_id)


@dataclass(frozen=True, slots=True)
class ScheduleInput:
    """Fields of a schedule to store; exactly one of `cron`, `every_seconds` and `at` is set.

    Attributes:
        at: ISO 8601, or `in 10m`.
        timezone: IANA name; None for the operator's time zone.
        missed: handling of occurrences missed while the service was stopped.
        session: a new session for each run, or one for all.
        expires_at: see `at`; None for never.
        recurring: False to run only at the next time of `cron`; the schedule is then deleted.
    """

    name: str
    prompt: str
    cron: str | None = None
    every_seconds: int | None = None
    at: str | None = None
    timezone: str | None = None
    missed: MissedPolicy = "skip"
    session: SessionPolicy = "fresh"
    expires_at: str | None = None
    recurring: bool = True


@dataclass(frozen=True, slots=True)
class Schedule:
    """Stored schedule. Times are RFC 3339 in UTC.

    Attributes:
        next_at: None without a further occurrence.
        paused: why it is paused; empty if active.
        paused_code: code of `paused` for programs; None if active or unknown.
        agent_id: agent of its runs; fixed at creation.
        token_id: token whose limits apply: that of the last call that created or changed it.
    """

    id: str
    owner: str
    name: str
    prompt: str
    timing: Timing
    missed: MissedPolicy
    session: SessionPolicy
    session_id: str | None
    agent_id: str | None
    project_id: str | None
    token_id: str | None
    expires_at: str | None
    next_at: str | None
    paused: str
    version: int
    created_at: str
    updated_at: str
    paused_code: str | None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of a schedule. `run_status` is the status of its run, if started.

    `reason_code` is the code of `reason` for programs; None without a reason or if unknown.
    """

    id: str
    scheduled_at: str
    trigger: Literal["slot", "manual"]
    status: SlotStatus
    reason: str
    reason_code: str | None
    run_id: str
    session_id: str
    run_status: str | None


@runtime_checkable
class Schedules(Protocol):
    """Service `SCHEDULES`: the schedules that a call may see.

    All methods raise `ToolFailed`: `not_found` for schedules of others, `invalid_schedule` for
    impossible times, `too_many_schedules`; `held` if an administrator has paused the schedule,
    `already_begun` while a run of it is active.
    """

    async def create(self, draft: ScheduleInput, owner: ScheduleOwner) -> Schedule: ...

    async def find(self, owner: ScheduleOwner) -> Sequence[Schedule]:
        """Return the owner's schedules, by name."""

    async def get(self, owner: ScheduleOwner, schedule_id: str) -> Schedule: ...

    async def update(
        self, owner: ScheduleOwner, schedule_id: str, changes: Mapping[str, Any]
    ) -> Schedule:
        """Change fields of its draft; new times apply from now."""

    async def pause(self, owner: ScheduleOwner, schedule_id: str, *, paused: bool) -> Schedule:
        """Pause a schedule, or resume it from its next time."""

    async def delete(self, owner: ScheduleOwner, schedule_id: str) -> Schedule:
        """Delete the schedule with its history and return it. An active run continues."""

    async def run_now(self, owner: ScheduleOwner, schedule_id: str) -> Occurrence:
        """Start a run immediately; the other times stay unchanged."""

    async def history(
        self, owner: ScheduleOwner, schedule_id: str, limit: int
    ) -> Sequence[Occurrence]:
        """Return its occurrences, newest first."""
