"""Memories and their service.

A memory belongs to a scope: that of an agent, a user or a project. The call determines which scopes
it may read, never the model's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

MEMORY = "memory"

Scope = Literal["agent", "user", "project"]
MatchMode = Literal["or", "and"]
WriteOutcome = Literal["created", "changed", "unchanged", "conflict"]


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Scope of memories with its owner."""

    scope: Scope
    owner: str


@dataclass(frozen=True, slots=True)
class MemoryAuthor:
    """Author of a memory: stored with it, and never shown to other users.

    Attributes:
        source: channel or agent, as shown in a line; one line without `|`.
    """

    source: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """Memory to save; without a `key`, one is generated."""

    content: str
    tags: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Stored memory. Times are RFC 3339 text in UTC.

    Attributes:
        number: incremented for every memory of the installation.
        key: key, unique within its scope.
        version: incremented by every write in its scope, so that it is never reused.
    """

    number: int
    id: str
    place: MemoryScope
    key: str
    version: int
    content: str
    tags: tuple[str, ...]
    writer: MemoryAuthor
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Line:
    """A memory and its line number among all visible to the call, from 1, oldest first."""

    number: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Saved:
    """Result of a save. On a `conflict` nothing was written and `memory` is the stored one.

    Attributes:
        used, limit: memories of the scope, and their maximum.
        warns: the limit is nearly reached.
    """

    ending: WriteOutcome
    memory: Memory
    used: int
    limit: int
    warns: bool


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """Memories to recall: by words, by tags (all of them), or both."""

    query: str | None
    tags: tuple[str, ...] = ()
    mode: MatchMode = "or"
    limit: int = 15


@dataclass(frozen=True, slots=True)
class Recalled:
    """Recalled memories, best match first.

    Attributes:
        matched: total matches.
        no_words: the query has no searchable word.
        left_out: number of words dropped from the query.
        words_alone: only words were matched, because the embedding is not available.
    """

    lines: Sequence[Line]
    matched: int
    no_words: bool = False
    left_out: int = 0
    words_alone: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Lines in order, and their total number."""

    lines: Sequence[Line]
    total: int


@runtime_checkable
class AgentMemory(Protocol):
    """Service `MEMORY`. Results are on disk, and visible to other processes."""

    @property
    def asks_before_sharing(self) -> bool:
        """Whether changes to shared memory require approval."""

    async def save(
        self, place: MemoryScope, draft: MemoryInput, writer: MemoryAuthor, *, expected: int | None
    ) -> Saved:
        """Store a new memory, or replace that of a key if `expected` is its version.

        Raises:
            ToolFailed: `secret_refused`, `memory_full`; `not_found` for an expected version of an
                unknown key.
        """

    async def recall(self, places: Sequence[MemoryScope], wanted: RecallQuery) -> Recalled:
        """Return the best matches, ranked as in docs/memory.md. Every query is valid."""

    async def read(self, places: Sequence[MemoryScope], start: int, end: int) -> Page:
        """Return lines `start` to `end`, inclusive; negative ones count from the end."""

    async def line_of(self, places: Sequence[MemoryScope], memory: Memory) -> tuple[int, int]:
        """Return the memory's line among all of the scopes, and the number of lines."""

    async def forget(self, place: MemoryScope, key: str, *, expected: int | None) -> Memory:
        """Delete a memory permanently and return it.

        Raises:
            ToolFailed: `not_found`; `memory_conflict` if `expected` is not its version.
        """
