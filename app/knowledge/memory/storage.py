"""Database interface of memory: transactions, concurrent reads, and a word index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.knowledge.memory.reader import Query, SqliteReader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """Filter for memories; at least one of the three is given.

    Attributes:
        place_ids: scopes; None for any.
        tags: required tags.
        words: expression of a `SearchQuery`; None for any words.
    """

    place_ids: Sequence[int] | None = None
    tags: Sequence[str] = ()
    words: str | None = None


class WordIndex(Protocol):
    """Index of memories by words and tags. It does not enforce scopes."""

    def keep(
        self,
        transaction: Transaction,
        number: int,
        place_id: int,
        words: str,
        tags: Sequence[str],
    ) -> None:
        """Index a memory by its words, replacing earlier ones."""

    def drop(self, transaction: Transaction, number: int) -> None:
        """Remove a memory's words."""

    def best(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        """Return numbers and ranks of the best matches; a higher rank is better."""

    def newest(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        """Return matches like `best`, newest first, with equal ranks."""

    def count(self, query: Query, wanted: MemoryQuery) -> int:
        """Return the number of matches."""

    def condition(self, wanted: MemoryQuery) -> tuple[str, list[Any]]:
        """Return a condition on `m.number`, and its values."""


class Storage(Protocol):
    """Storage of memory."""

    @property
    def index(self) -> WordIndex: ...

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one transaction, committed when this returns.

        Raises:
            StorageUnavailable: the database is currently not writable.
        """

    async def read(self, work: Callable[[Query], T]) -> T:
        """Run `work` in a thread; all its queries see the same snapshot.

        Raises:
            StorageUnavailable: the database is currently not readable.
        """

    def note(self, transaction: Transaction, kind: str, **facts: Any) -> None:
        """Add an audit line, without which the change is not committed."""

    async def close(self) -> None:
        """Close all resources."""


class SqliteStorage:
    """`Storage` in the database of the service."""

    def __init__(
        self, db: DatabaseWriter, reader: SqliteReader, audit: AuditLog, index: WordIndex
    ) -> None:
        self._db = db
        self._reader = reader
        self._audit = audit
        self.index = index

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        return await self._db.transact(work)

    async def read(self, work: Callable[[Query], T]) -> T:
        return await self._reader.read(work)

    def note(self, transaction: Transaction, kind: str, **facts: Any) -> None:
        self._audit.within(transaction, AuditEntry(kind, **facts))

    async def close(self) -> None:
        """Do nothing: nothing stays open between calls."""
