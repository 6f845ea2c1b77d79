"""Positions in streams of updates, kept over restarts."""

from __future__ import annotations

from typing import Protocol

from app.db.writer import DatabaseWriter

_READ = "SELECT position FROM notification_offsets WHERE stream = ?"
_WRITE = (
    "INSERT INTO notification_offsets (stream, position) VALUES (?, ?)"
    " ON CONFLICT (stream) DO UPDATE SET position = excluded.position"
)


class OffsetStore(Protocol):
    """Keeps the position in the stream of updates over restarts."""

    async def load(self) -> int | None:
        """Return the stored offset; None at first."""

    async def save(self, offset: int) -> None:
        """Store the offset of the next update."""


class StoredOffset:
    """`OffsetStore` in the database.

    Args:
        stream: name of the stream, such as the ID of a channel.
    """

    def __init__(self, db: DatabaseWriter, stream: str) -> None:
        self._db = db
        self._stream = stream

    async def load(self) -> int | None:
        """See the Protocol."""
        rows = await self._db.transact(lambda work: work.fetch(_READ, (self._stream,)))
        return rows[0][0] if rows else None

    async def save(self, offset: int) -> None:
        """See the Protocol."""
        await self._db.transact(lambda work: work.execute(_WRITE, (self._stream, offset)))


def not_stored(stream: str) -> OffsetStore:
    """Refuse to keep positions, for services without a database.

    Raises:
        LookupError: always.
    """
    raise LookupError(f"the position of {stream!r} is not stored")
