"""Read-only queries of the query audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from app.db.engine import Database
from app.db.source_tables import QueryAuditRow


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """Filter for rows; None matches all."""

    source_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    verdict: str | None = None
    since: str | None = None
    until: str | None = None


class QueryAuditReader:
    """Reader of pages, newest first."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, filters: QueryFilters, *, limit: int, before: int | None = None
    ) -> Sequence[QueryAuditRow]:
        """Return a page; `before` is the last `seq` of the previous page."""
        query = select(QueryAuditRow).where(*_conditions(filters))
        if before is not None:
            query = query.where(col(QueryAuditRow.seq) < before)
        query = query.order_by(col(QueryAuditRow.seq).desc()).limit(limit)
        return await self._database.all(query)


def _conditions(filters: QueryFilters) -> list[Any]:
    names = ("source_id", "agent_id", "user_id", "session_id", "verdict")
    found: list[Any] = [
        col(getattr(QueryAuditRow, name)) == getattr(filters, name)
        for name in names
        if getattr(filters, name) is not None
    ]
    if filters.since is not None:
        found.append(col(QueryAuditRow.ts) >= filters.since)
    if filters.until is not None:
        found.append(col(QueryAuditRow.ts) < filters.until)
    return found
