"""Tables: delegated work. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel


class BatchRow(SQLModel, table=True):
    """Tasks delegated together.

    `parent_run_id` and `operation_id` identify the delegating call; `fingerprint` recognizes equal
    requests. `owner` is the process that works on it, empty if left to the next one. `parent` is
    JSON about the delegating agent for that process; like `progress`, it is not redacted, and
    deleted when the batch ends.
    """

    __tablename__ = "delegation_batches"
    id: str = Field(primary_key=True)
    session_id: str = Field(index=True)
    parent_run_id: str | None = None
    operation_id: str | None = None
    kind: str
    name: str
    background: bool
    fingerprint: str
    status: str = Field(index=True)
    owner: str
    created_at: str
    finished_at: str | None = None
    parent: str | None = Field(default=None, sa_column=Column(Text))


class DelegatedTaskRow(SQLModel, table=True):
    """One task of a batch: request, limits and result.

    `spec` is JSON of a `TaskSpec`, `routes` and `blocked` of its restricted tools; `state` is JSON
    of the changing part: response, calls, rounds, usage, worker. `progress` is for the next
    process, as written by `app.agents.delegation.progress`.
    """

    __tablename__ = "delegated_tasks"
    id: str = Field(primary_key=True)
    batch_id: str = Field(index=True)
    run_id: str
    position: int
    label: str
    spec: str = Field(sa_column=Column(Text, nullable=False))
    routes: str = Field(sa_column=Column(Text, nullable=False))
    blocked: str = Field(sa_column=Column(Text, nullable=False))
    status: str
    state: str = Field(sa_column=Column(Text, nullable=False))
    error: str | None = Field(default=None, sa_column=Column(Text))
    started_at: str | None = None
    finished_at: str | None = None
    progress: str | None = Field(default=None, sa_column=Column(Text))
