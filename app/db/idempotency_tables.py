"""Table: requests that were sent under a key of their sender's choice."""

from __future__ import annotations

from sqlalchemy import Column, LargeBinary
from sqlmodel import Field, SQLModel


class IdempotencyKeyRow(SQLModel, table=True):
    """One request under its key, and its answer. `kept_until` is a Unix time.

    `content` is the digest of the request, and empty while it is being carried out; `status` is
    0 for as long as there is no answer.
    """

    __tablename__ = "idempotency_keys"
    door: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    content: str
    status: int
    answer: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    kept_until: float = Field(index=True)
