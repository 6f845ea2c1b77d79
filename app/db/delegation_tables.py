"""Tables: delegated work. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel


class BatchRow(SQLModel, table=True):
    """Tasks that were delegated together.

    `parent_run_id` and `operation_id` name the call that delegated them; `fingerprint` tells
    whether the same was asked a moment ago. `owner` is the process that works on it, and empty
    when it was left to the next one. `parent` is JSON of what that one must know of who has
    delegated; as `progress`, it is there only until the batch has ended, and not redacted.
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
    """One task of a batch: what was asked, within which limits, and what came of it.

    `spec` is JSON of a `TaskSpec`, `routes` and `blocked` of its trimmed set of tools; `state`
    is the JSON of what changes while it runs: response, calls, rounds, usage, worker.
    `progress` is what the next process goes on with, as `app.agents.delegation.progress`
    writes it.
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
