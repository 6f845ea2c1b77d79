"""Database reads that use the query toolkit, which is loaded on first use.

The toolkit takes a seventh of the server's start time, and a starting service needs it only to
continue runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.agents.session_queries import SessionQueries
    from app.db.engine import Database
    from app.db.tables import EntryRow
    from app.domain.history import FoundMessage, Visitor


class DatabaseQueries:
    """Database with its queries; the first use loads the toolkit.

    Implements `SessionSearch`. Must be used on one event loop.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def database(self) -> Database:
        from app.db.engine import Database

        return Database(self._path)

    @cached_property
    def archive(self) -> SessionQueries:
        from app.agents.session_queries import SessionQueries

        return SessionQueries(self.database)

    async def load(self, session_id: str) -> tuple[dict[str, Any], int] | None:
        """See `SessionQueries.load`."""
        return await self.archive.load(session_id)

    async def path(self, session_id: str, leaf: str | None) -> list[EntryRow]:
        """See `SessionQueries.path`."""
        return await self.archive.path(session_id, leaf)

    async def search(
        self, words: Sequence[str], visitor: Visitor, *, limit: int
    ) -> list[FoundMessage]:
        """See `StoredSessions.search`."""
        from app.agents.session_search import StoredSessions

        return await StoredSessions(self.database).search(words, visitor, limit=limit)

    async def close(self) -> None:
        if "database" in self.__dict__:
            await self.database.close()
