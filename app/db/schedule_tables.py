"""Tables: schedules. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text, UniqueConstraint
from sqlmodel import Field, SQLModel


class ScheduleRow(SQLModel, table=True):
    """Schedule with its owner.

    Either `cron`, `every_seconds` or `at` is set, or `cron` with `at`, its only occurrence, after
    which the row is deleted. `next_at` is the next time in UTC, or null; `paused`
    is the reason of a pause, or empty; `paused_code` is its code for programs, null in older rows.
    """

    __tablename__ = "schedules"
    id: str = Field(primary_key=True)
    owner: str = Field(index=True)
    name: str
    prompt: str = Field(sa_column=Column(Text, nullable=False))
    cron: str | None = None
    every_seconds: int | None = None
    at: str | None = None
    timezone: str
    since: str
    missed: str
    session: str
    session_id: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    token_id: str | None = None
    expires_at: str | None = None
    next_at: str | None = Field(default=None, index=True)
    paused: str
    version: int
    created_at: str
    updated_at: str
    paused_code: str | None = None


class OccurrenceRow(SQLModel, table=True):
    """One occurrence of a schedule and its result; each time is unique.

    `claimed_by` is the process that starts it. The run's ID is decided before the run starts, so
    that after a crash it is known whether it has started. `reason_code` is null without a reason
    and in older rows.
    """

    __tablename__ = "schedule_slots"
    __table_args__ = (UniqueConstraint("schedule_id", "scheduled_at"),)
    id: str = Field(primary_key=True)
    schedule_id: str
    scheduled_at: str
    trigger: str
    status: str = Field(index=True)
    reason: str
    run_id: str
    session_id: str
    claimed_by: str
    claimed_at: str
    reason_code: str | None = None
