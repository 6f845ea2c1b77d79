"""Tables: triggers. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel


class OutboundRequestRow(SQLModel, table=True):
    """A request that agents may send by its name.

    `target` seals the address and the values of the headers; `origin` and `headers` (their
    names) are what may be shown of it.
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
    """What another system may begin here, and as whom it runs.

    `secret` is sealed; `paused` says why it stands still, and is empty while it runs.
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
    """An accepted delivery, kept for as long as its signature could come again."""

    __tablename__ = "webhook_deliveries"
    digest: str = Field(primary_key=True)
    webhook_id: str
    run_id: str
    session_id: str
    received_at: str
    expires_at: str = Field(index=True)
