"""What schedules need of the service, as a Protocol; the composition root binds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

from app.toolkit.context import ToolContext
from app.tools.automation.timing import Timing
from app.tools.planning.owners import owner_of

SCHEDULES = "schedule_book"

MissedPolicy = Literal["skip", "once"]
SessionPolicy = Literal["fresh", "continue"]
SlotStatus = Literal["claimed", "started", "skipped", "missed", "failed"]


@dataclass(frozen=True, slots=True)
class ScheduleOwner:
    """Whose schedules a call may see and change: those that run exactly as it does.

    Those of the same user that run as another agent, or in another project, are not among
    them: whoever writes their prompt would act with rights that the call has not.
    """

    user_id: str
    agent_id: str | None
    project_id: str | None
    token_id: str | None

    @classmethod
    def of(cls, ctx: ToolContext) -> Self:
        """Raises `ToolFailed`, code `no_user`, for a call without a user."""
        return cls(owner_of(ctx), ctx.agent_id, ctx.project_id, ctx.token_id)

    def keeps(self, schedule: Schedule) -> bool:
        """Whether a schedule is one of theirs."""
        theirs = (schedule.owner, schedule.agent_id, schedule.project_id)
        return theirs == (self.user_id, self.agent_id, self.project_id)


@dataclass(frozen=True, slots=True)
class ScheduleInput:
    """What shall be kept of a schedule; one of `cron`, `every_seconds` and `at` is set.

    Attributes:
        at: ISO 8601, or `in 10m`.
        timezone: IANA name; None for the operator's.
        missed: what to do with times that passed while the service stood still.
        session: a new session for each run, or one for all.
        expires_at: as `at`; None for never.
        recurring: False for the next time of `cron` only; then the schedule is gone.
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
    """A stored schedule. Times are RFC 3339 in UTC.

    Attributes:
        next_at: None when it never comes again.
        paused: why it stands still; empty while it runs.
        paused_code: the same for programs; None while it runs, and where nobody has kept it.
        agent_id: as whom it runs; fixed when it is made.
        token_id: whose limits hold for it: those of the call that made or changed it last.
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
    """One time of a schedule. `run_status` is that of its run, where one has begun.

    `reason_code` says what `reason` does, for programs; None where there is nothing to say, and
    where nobody has kept it.
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
    """The service `SCHEDULES`: the schedules that a call may see.

    All methods raise `ToolFailed`: `not_found` for what is not the owner's,
    `invalid_schedule` for times that cannot be, `too_many_schedules`; `held` when an
    administrator lets the schedule stand still, `already_begun` while a run of it is under way.
    """

    async def create(self, draft: ScheduleInput, owner: ScheduleOwner) -> Schedule: ...

    async def find(self, owner: ScheduleOwner) -> Sequence[Schedule]:
        """Those of the owner, by their names."""

    async def get(self, owner: ScheduleOwner, schedule_id: str) -> Schedule: ...

    async def update(
        self, owner: ScheduleOwner, schedule_id: str, changes: Mapping[str, Any]
    ) -> Schedule:
        """Change fields of its draft; new times count from now."""

    async def pause(self, owner: ScheduleOwner, schedule_id: str, *, paused: bool) -> Schedule:
        """Let it stand still, or run again: from its next time on."""

    async def delete(self, owner: ScheduleOwner, schedule_id: str) -> Schedule:
        """Delete it with its history; what it was. A run that has begun goes on."""

    async def run_now(self, owner: ScheduleOwner, schedule_id: str) -> Occurrence:
        """Begin a run at once; its other times stay as they are."""

    async def history(
        self, owner: ScheduleOwner, schedule_id: str, limit: int
    ) -> Sequence[Occurrence]:
        """What became of its times, the newest first."""
