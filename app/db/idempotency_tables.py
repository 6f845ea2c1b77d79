"""Table: requests sent with an idempotency key."""

from __future__ import annotations

from sqlalchemy import Column, LargeBinary
from sqlmodel import Field, SQLModel


class IdempotencyKeyRow(SQLModel, table=True):
    """Request with its key and response. `kept_until` is a Unix time.

    `content` is the digest of the request, empty while it is running; `status` is 0 until there is
    a response.
    """

    __tablename__ = "idempotency_keys"
    door: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    content: str
    status: int
    answer: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    kept_until: float = Field(index=True)
