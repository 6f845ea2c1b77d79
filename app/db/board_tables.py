"""Tables: boards. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel


class TodoListRow(SQLModel, table=True):
    """Todo list of one session: a JSON list of items, replaced as a whole."""

    __tablename__ = "todo_lists"
    session_id: str = Field(primary_key=True)
    revision: int
    items: str = Field(sa_column=Column(Text, nullable=False))
    updated_at: str


class TaskRow(SQLModel, table=True):
    """Task of a user that outlives the session. `due` is a date, or a time in UTC."""

    __tablename__ = "tasks"
    __table_args__ = (Index("ix_tasks_owner", "owner", "status", "due"),)
    id: str = Field(primary_key=True)
    owner: str
    title: str
    notes: str = Field(sa_column=Column(Text, nullable=False))
    status: str
    due: str | None = None
    version: int
    created_by: str
    created_at: str
    updated_at: str


class AppointmentRow(SQLModel, table=True):
    """Entry of a user's calendar, from `starts_at` (inclusive) to `ends_at` (exclusive), in UTC."""

    __tablename__ = "appointments"
    __table_args__ = (Index("ix_appointments_owner", "owner", "ends_at"),)
    id: str = Field(primary_key=True)
    owner: str
    title: str
    notes: str = Field(sa_column=Column(Text, nullable=False))
    starts_at: str
    ends_at: str
    timezone: str
    all_day: bool
    created_by: str
    created_at: str


class ForumPostRow(SQLModel, table=True):
    """Post on a board of a project; a post with `reply_to` answers the first post of a thread."""

    __tablename__ = "forum_posts"
    __table_args__ = (Index("ix_forum_posts_place", "project_id", "board", "number"),)
    number: int | None = Field(default=None, primary_key=True)
    project_id: str
    board: str
    reply_to: int | None = Field(default=None, index=True)
    title: str
    body: str = Field(sa_column=Column(Text, nullable=False))
    author: str
    user_id: str
    created_at: str
