"""Tables: memory. Times and JSON as in `app.db.tables`.

The words of a memory are kept in `memory_words`, a full-text table of SQLite that the migration
makes: it is an index, and whatever is in it can be made again from these tables.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, Text, UniqueConstraint
from sqlmodel import Field, SQLModel


class MemoryPlaceRow(SQLModel, table=True):
    """What one agent, user or project remembers. `counter` grows with every write in it."""

    __tablename__ = "memory_places"
    __table_args__ = (UniqueConstraint("scope", "owner"),)
    id: int | None = Field(default=None, primary_key=True)
    scope: str
    owner: str
    counter: int
    total: int


class MemoryRow(SQLModel, table=True):
    """One memory. Its `version` is the counter of its place at its last change."""

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
    """What a memory means, as a model says; both empty when it says nothing. Can be made again.

    `bits` stands before `vector`, which fills pages of its own that a search does not read.
    """

    __tablename__ = "memory_vectors"
    number: int | None = Field(default=None, primary_key=True)
    model: str
    bits: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    vector: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
