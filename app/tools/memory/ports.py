"""What agents remember, as a Protocol; the composition root binds it.

A memory lies in a place: that of an agent, of a user or of a project. Which places a call
may look into follows from the call, never from what a model says.
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
    """Where memories lie: of whom or what (`owner`), in which sense (`scope`)."""

    scope: Scope
    owner: str


@dataclass(frozen=True, slots=True)
class MemoryAuthor:
    """Who writes: noted with each memory, and never shown to other users.

    Attributes:
        source: the channel or the agent, as a line shows it; one line without `|`.
    """

    source: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """What shall be remembered; without a `key` it is given one."""

    content: str
    tags: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it is stored. Times are RFC 3339 text in UTC.

    Attributes:
        number: grows with every memory of the installation.
        key: names it within its place.
        version: grows with every write in its place, so that none comes twice.
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
    """A memory and its place among all that the call may see, from 1, the oldest first."""

    number: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Saved:
    """How saving ended. At a `conflict` nothing was written: `memory` is what is stored.

    Attributes:
        used, limit: memories of the place, and how many there may be.
        warns: nearly all of them are used.
    """

    ending: WriteOutcome
    memory: Memory
    used: int
    limit: int
    warns: bool


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What to recall: by words, by tags (all of them), or both."""

    query: str | None
    tags: tuple[str, ...] = ()
    mode: MatchMode = "or"
    limit: int = 15


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found, the likeliest first.

    Attributes:
        matched: how many fit in all.
        no_words: the query holds no word that could be looked for.
        left_out: how many of its words were too many to be looked for.
        words_alone: what it means should count too, and could not be found out.
    """

    lines: Sequence[Line]
    matched: int
    no_words: bool = False
    left_out: int = 0
    words_alone: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Lines in their order, and how many there are in all."""

    lines: Sequence[Line]
    total: int


@runtime_checkable
class AgentMemory(Protocol):
    """The service `MEMORY`. What it has answered is on disk, and other processes see it."""

    @property
    def asks_before_sharing(self) -> bool:
        """Whether a person is asked before others' memory is changed."""

    async def save(
        self, place: MemoryScope, draft: MemoryInput, writer: MemoryAuthor, *, expected: int | None
    ) -> Saved:
        """Keep a new memory, or replace what a key holds when `expected` is its version.

        Raises:
            ToolFailed: `secret_refused`, `memory_full`; `not_found` for an expected version
                of a key that is not there.
        """

    async def recall(self, places: Sequence[MemoryScope], wanted: RecallQuery) -> Recalled:
        """What fits best, as docs/memory.md ranks it. No query is an error."""

    async def read(self, places: Sequence[MemoryScope], start: int, end: int) -> Page:
        """The lines `start` to `end`, both counted in; negative ones count from the end."""

    async def line_of(self, places: Sequence[MemoryScope], memory: Memory) -> tuple[int, int]:
        """The memory's line among all of the places, and how many there are."""

    async def forget(self, place: MemoryScope, key: str, *, expected: int | None) -> Memory:
        """Remove a memory for good; what it was.

        Raises:
            ToolFailed: `not_found`; `memory_conflict` when `expected` is not its version.
        """
