"""Tables: triggers. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel


class OutboundRequestRow(SQLModel, table=True):
    """Request that agents may send by name.

    `target` contains the encrypted address and header values; `origin` and `headers` (their names)
    are the displayable part.
    """

    __tablename__ = "triggers"
    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    method: str
    origin: str
    headers: str = Field(sa_column=Column(Text, nullable=False))
    target: str = Field(sa_column=Column(Text, nullable=False))
    body: str | None = Field(default=None, sa_column=Column(Text))
    body_from_call: bool
    free: bool
    agents: str = Field(sa_column=Column(Text, nullable=False))
    enabled: bool
    version: int
    created_at: str
    updated_at: str


class WebhookRow(SQLModel, table=True):
    """Webhook with its owner and agent.

    `secret` is encrypted; `paused` is the reason of a pause, or empty.
    """

    __tablename__ = "webhooks"
    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    owner: str
    agent_id: str | None = None
    project_id: str | None = None
    token_id: str | None = None
    template: str = Field(sa_column=Column(Text, nullable=False))
    per_minute: int
    secret: str = Field(sa_column=Column(Text, nullable=False))
    paused: str
    version: int
    created_at: str
    updated_at: str


class DeliveryRow(SQLModel, table=True):
    """Accepted delivery, stored as long as its signature could be replayed."""

    __tablename__ = "webhook_deliveries"
    digest: str = Field(primary_key=True)
    webhook_id: str
    run_id: str
    session_id: str
    received_at: str
    expires_at: str = Field(index=True)
