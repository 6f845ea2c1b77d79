"""Read-only queries of the connections of programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from app.db.connection_tables import NetworkConnectionRow
from app.db.engine import Database


@dataclass(frozen=True, slots=True)
class ConnectionFilters:
    """Filter for rows; None matches all."""

    host: str | None = None
    verdict: str | None = None
    operation_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None
    since: str | None = None
    until: str | None = None


_EQUAL = ("host", "verdict", "operation_id", "session_id", "agent_id", "user_id", "project_id")


class ConnectionReader:
    """Reader of pages, newest first."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, filters: ConnectionFilters, *, limit: int, before: int | None = None
    ) -> Sequence[NetworkConnectionRow]:
        """Return a page; `before` is the last `seq` of the previous page."""
        query = select(NetworkConnectionRow).where(*_conditions(filters))
        if before is not None:
            query = query.where(col(NetworkConnectionRow.seq) < before)
        query = query.order_by(col(NetworkConnectionRow.seq).desc()).limit(limit)
        return await self._database.all(query)


def _conditions(filters: ConnectionFilters) -> list[Any]:
    found: list[Any] = [
        col(getattr(NetworkConnectionRow, name)) == getattr(filters, name)
        for name in _EQUAL
        if getattr(filters, name) is not None
    ]
    if filters.since is not None:
        found.append(col(NetworkConnectionRow.ts) >= filters.since)
    if filters.until is not None:
        found.append(col(NetworkConnectionRow.ts) < filters.until)
    return found
