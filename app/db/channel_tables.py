"""Tables: channels and desktop tasks. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel


class ChannelRow(SQLModel, table=True):
    """Account of a chat application, with the permissions of agents."""

    __tablename__ = "channels"
    id: str = Field(primary_key=True)
    name: str
    kind: str
    config: str = Field(sa_column=Column(Text, nullable=False))
    enabled: int
    version: int
    created_at: str
    updated_at: str


class DesktopTaskRow(SQLModel, table=True):
    """Task for a desktop operator. `text` is the sent text, including its watermark.

    `claim_id` is known only to the operator that has claimed the task.
    """

    __tablename__ = "desktop_tasks"
    __table_args__ = (
        Index("ix_desktop_tasks_status", "status", "created_at"),
        Index("ix_desktop_tasks_channel", "channel_id", "created_at"),
    )
    id: str = Field(primary_key=True)
    channel_id: str
    model_channel_id: str | None = None
    app_id: str
    action_type: str
    target: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    watermark: str
    status: str
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    operation_id: str
    operator: str | None = None
    operator_key: str | None = None
    claim_id: str | None = None
    lease_until: str | None = None
    created_at: str
    expires_at: str
    claimed_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    result: str | None = Field(default=None, sa_column=Column(Text))
    code: str | None = None
    error: str | None = Field(default=None, sa_column=Column(Text))


class NotificationLinkCodeRow(SQLModel, table=True):
    """Code that links a chat account to the user who created it; only its digest is stored."""

    __tablename__ = "notification_link_codes"
    __table_args__ = (Index("ix_notification_link_codes_user", "user_id", "expires_at"),)
    sha256: str = Field(primary_key=True)
    user_id: str
    token_id: str | None = None
    created_at: str
    expires_at: str


class NotificationOffsetRow(SQLModel, table=True):
    """Position in a stream of updates of a chat service."""

    __tablename__ = "notification_offsets"
    stream: str = Field(primary_key=True)
    position: int


class NotificationLinkRow(SQLModel, table=True):
    """Account at a chat service, and the user whose requests it answers."""

    __tablename__ = "notification_links"
    __table_args__ = (
        Index("ix_notification_links_sender", "channel", "sender", unique=True),
        Index("ix_notification_links_user", "user_id", "created_at"),
    )
    id: str = Field(primary_key=True)
    channel: str
    sender: str
    user_id: str
    token_id: str | None = None
    created_at: str
