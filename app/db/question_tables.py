"""Tables: questions and tickets. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from app.db.tables import NO, ONE, SESSION_KEY


class QuestionRow(SQLModel, table=True):
    """Questions that one call asked the user, and their answer. `expires_at` is a Unix time.

    `request` is the event. `status` is open, answered, declined, expired, cancelled, or late:
    answered after its end. `told` means that the event of its end was sent.
    """

    __tablename__ = "questions"
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    run_id: str | None = None
    tool_call_id: str
    operation_id: str
    agent_id: str | None = None
    user_id: str | None = None
    caller: str
    status: str = Field(index=True)
    request: str = Field(sa_column=Column(Text, nullable=False))
    answer: str | None = Field(default=None, sa_column=Column(Text))
    answered_by: str | None = None
    created_at: str
    expires_at: float | None = None
    answered_at: str | None = None
    told: bool = Field(default=False, sa_column_kwargs=NO)


class TicketRow(SQLModel, table=True):
    """Request of an agent to an operator. `expires_at` is a Unix time.

    `reason_key` identifies equal reasons within a run.
    """

    __tablename__ = "tickets"
    __table_args__ = (
        Index("ix_tickets_created", "created_at", "id"),
        Index("ix_tickets_user", "user_id", "created_at"),
    )
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    run_id: str | None = None
    tool_call_id: str
    operation_id: str = Field(unique=True)
    agent_id: str | None = None
    user_id: str | None = None
    token_id: str | None = None
    caller: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    reason_key: str
    severity: str
    context: str = Field(sa_column=Column(Text, nullable=False))
    addressee: str
    blocking: bool = Field(default=False, sa_column_kwargs=NO)
    status: str = Field(index=True)
    answer: str | None = Field(default=None, sa_column=Column(Text))
    answered_by: str | None = None
    created_at: str
    expires_at: float | None = None
    updated_at: str
    version: int = Field(default=1, sa_column_kwargs=ONE)
