"""What memory needs of a database: transactions, reading beside them, and an index of words."""

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
    """Which memories are wanted; at least one of the three is given.

    Attributes:
        place_ids: in these places; None for any.
        tags: with all of these.
        words: an expression of `Question`; None for whatever words.
    """

    place_ids: Sequence[int] | None = None
    tags: Sequence[str] = ()
    words: str | None = None


class WordIndex(Protocol):
    """Finds memories by their words and tags. It is no authority on places."""

    def keep(
        self,
        transaction: Transaction,
        number: int,
        place_id: int,
        words: str,
        tags: Sequence[str],
    ) -> None:
        """Let a memory be found by its words; what it was found by before is forgotten."""

    def drop(self, transaction: Transaction, number: int) -> None:
        """Take a memory's words out."""

    def best(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        """Numbers and ranks of those that fit best by their words; a higher rank is better."""

    def newest(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        """As `best`, the newest first, with equal ranks."""

    def count(self, query: Query, wanted: MemoryQuery) -> int:
        """How many there are."""

    def condition(self, wanted: MemoryQuery) -> tuple[str, list[Any]]:
        """A condition on `m.number`, and its values."""


class Storage(Protocol):
    """Where memory is kept."""

    @property
    def index(self) -> WordIndex: ...

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one transaction, committed when this returns.

        Raises:
            StorageUnavailable: the database cannot be written at the moment.
        """

    async def read(self, work: Callable[[Query], T]) -> T:
        """Run `work` in a thread; all its queries see one moment.

        Raises:
            StorageUnavailable: the database cannot be read at the moment.
        """

    def note(self, transaction: Transaction, kind: str, **facts: Any) -> None:
        """A line of the audit, without which the change is not committed."""

    async def close(self) -> None:
        """End what is open."""


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
        """Nothing is open between two calls."""
