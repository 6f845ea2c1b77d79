"""Tables: notifications about pending requests. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel


class NotificationChannelRow(SQLModel, table=True):
    """Channel of notifications. `secrets` is encrypted; `origin` and `secret_names` are the
    displayable part.
    """

    __tablename__ = "notification_channels"
    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    kind: str
    settings: str = Field(sa_column=Column(Text, nullable=False))
    secrets: str = Field(sa_column=Column(Text, nullable=False))
    secret_names: str = Field(sa_column=Column(Text, nullable=False))
    origin: str
    content: str
    buttons: str
    enabled: int
    version: int
    created_at: str
    updated_at: str


class NotificationSubscriptionRow(SQLModel, table=True):
    """Who is notified through a channel. `address` is encrypted; `hint` is its displayable part.

    `audience` is `user:ID`, `group:ID` or `all`. The rights of a user are those of `token_id`, the
    token with which the subscription was made; null for a user without a stored token.
    """

    __tablename__ = "notification_subscriptions"
    __table_args__ = (Index("ix_notification_subscriptions_audience", "audience"),)
    id: str = Field(primary_key=True)
    channel_id: str = Field(foreign_key="notification_channels.id", index=True)
    audience: str
    label: str
    address: str = Field(sa_column=Column(Text, nullable=False))
    hint: str
    token_id: str | None = None
    created_by: str
    created_at: str
    version: int


class NotificationRow(SQLModel, table=True):
    """State of a pending request for one subscription; unique, so that it is sent once.

    `state` is pending, sending, sent, failed or dropped. `closes` is the ID of the message that
    this one updates because the request has ended, or empty. `uncertain` means that an attempt may
    have arrived without an answer. `due_at` and `until` are Unix times.
    """

    __tablename__ = "notifications"
    __table_args__ = (
        UniqueConstraint("item_id", "event", "occurrence", "subscription_id", "closes"),
        Index("ix_notifications_due", "state", "due_at"),
        Index("ix_notifications_closes", "closes"),
        Index("ix_notifications_subscription", "subscription_id"),
        Index("ix_notifications_finished", "finished_at"),
    )
    seq: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    item_id: str
    event: str
    occurrence: int
    subscription_id: str
    channel_id: str
    closes: str
    facts: str = Field(sa_column=Column(Text, nullable=False))
    state: str
    uncertain: int
    attempts: int
    due_at: float
    until: float
    reference: str | None = Field(default=None, sa_column=Column(Text))
    error: str | None = Field(default=None, sa_column=Column(Text))
    created_at: str
    finished_at: str | None = None


class AnswerCapabilityRow(SQLModel, table=True):
    """Right to give one answer once, as one user. `sha256` is the digest of its ID."""

    __tablename__ = "answer_capabilities"
    sha256: str = Field(primary_key=True)
    confirmation_id: str = Field(index=True)
    digest: str
    user_id: str
    token_id: str | None = None
    option_id: str
    subscription_id: str
    created_at: str
    expires_at: float = Field(index=True)
    used_at: str | None = None
