"""Tables: schedules. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text, UniqueConstraint
from sqlmodel import Field, SQLModel


class ScheduleRow(SQLModel, table=True):
    """What shall run by the clock, and as whom.

    One of `cron`, `every_seconds` and `at` is set; with `cron`, `at` is its one time that counts,
    after which the row is gone. `next_at` is the next time in UTC, null when
    there is none any more; `paused` says why it stands still, and is empty while it runs;
    `paused_code` says it for programs, and is null in rows older than it.
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
    """One time of a schedule and what became of it: no time is there twice.

    `claimed_by` is the process that starts it. Its run's id is decided before the run begins, so
    that whoever finds the row after a crash can tell whether it has begun. `reason_code` is null in
    rows older than it, and where there is no reason.
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
