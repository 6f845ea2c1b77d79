"""Tables: memory. Times and JSON as in `app.db.tables`.

The words of a memory are indexed in `memory_words`, a full-text table of SQLite created by the
migration. It can be rebuilt from these tables.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, Text, UniqueConstraint
from sqlmodel import Field, SQLModel


class MemoryPlaceRow(SQLModel, table=True):
    """Memories of one agent, user or project. `counter` increases with every write."""

    __tablename__ = "memory_places"
    __table_args__ = (UniqueConstraint("scope", "owner"),)
    id: int | None = Field(default=None, primary_key=True)
    scope: str
    owner: str
    counter: int
    total: int


class MemoryRow(SQLModel, table=True):
    """One memory. `version` is the counter of its scope at its last change."""

    __tablename__ = "memories"
    __table_args__ = (
        UniqueConstraint("place_id", "key"),
        Index("ix_memories_place", "place_id", "number"),
    )
    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    place_id: int = Field(foreign_key="memory_places.id")
    key: str
    version: int
    content: str = Field(sa_column=Column(Text, nullable=False))
    tags: str
    source: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    created_at: str
    updated_at: str


class MemoryVectorRow(SQLModel, table=True):
    """Embedding of a memory; both fields are empty without one. Can be recomputed.

    `bits` precedes `vector`, which is on separate pages that a search does not read.
    """

    __tablename__ = "memory_vectors"
    number: int | None = Field(default=None, primary_key=True)
    model: str
    bits: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    vector: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
