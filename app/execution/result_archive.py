"""Results of earlier calls of a session."""

from __future__ import annotations

from typing import Any

from app.db.writer import DatabaseWriter, Transaction
from app.domain.history import ResultReader, StoredResult

# A sub-agent may have fewer rights than its parent, so it reads only its own results.
_SEEN = (
    "SELECT tool_call_id, tool_name, text FROM tool_calls WHERE session_id = ?"
    " AND text IS NOT NULL AND (run_id = ? OR NOT EXISTS"
    " (SELECT 1 FROM runs WHERE id = ? AND trigger = 'delegation'))"
)
_FIND = f"{_SEEN} AND tool_call_id = ? ORDER BY started_at DESC LIMIT 1"
_NEWEST = f"{_SEEN} ORDER BY started_at DESC LIMIT ?"


class ResultArchive:
    """`StoredResults` on the database writer's database."""

    def __init__(self, db: DatabaseWriter) -> None:
        self._db = db

    async def find(self, reader: ResultReader, tool_call_id: str) -> StoredResult | None:
        found = await self._read(_FIND, reader, tool_call_id)
        return found[0] if found else None

    async def newest(self, reader: ResultReader, *, limit: int) -> list[StoredResult]:
        return await self._read(_NEWEST, reader, limit)

    async def _read(self, sql: str, reader: ResultReader, last: Any) -> list[StoredResult]:
        values = (reader.session_id, reader.run_id, reader.run_id, last)

        def read(transaction: Transaction) -> list[StoredResult]:
            return [StoredResult(*row) for row in transaction.fetch(sql, values)]

        return await self._db.transact(read)
