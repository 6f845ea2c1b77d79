"""Read-only access to the audit: pages for people, a stream for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import fields
from typing import Any

import orjson
from sqlalchemy import func
from sqlmodel import col, select

from app.core.text import dump_json
from app.db.engine import Database
from app.db.tables import BESIDE_CALLS, AuditRow, SessionRow
from app.governance.audit.filters import AuditFilters

PAGE = 500
_CALL_ENDS = "call.finished"
_ORDER = tuple(column.name for column in AuditRow.__table__.columns)  # type: ignore[attr-defined]
_COLUMNS = {
    "actor": AuditRow.actor,
    "subject": AuditRow.subject,
    "tool_name": AuditRow.tool_name,
    "agent_id": AuditRow.agent_id,
    "session_id": AuditRow.session_id,
    "run_id": AuditRow.run_id,
    "operation_id": AuditRow.operation_id,
    "verdict": AuditRow.verdict,
    "outcome": AuditRow.outcome,
}


def conditions(filters: AuditFilters) -> list[Any]:
    """Return the filters as SQL conditions."""
    wanted = {field.name: getattr(filters, field.name) for field in fields(filters)}
    found: list[Any] = [
        col(column) == wanted[name] for name, column in _COLUMNS.items() if wanted[name] is not None
    ]
    if filters.kind is not None:
        found.append(func.substr(AuditRow.kind, 1, len(filters.kind)) == filters.kind)
        if not _CALL_ENDS.startswith(filters.kind):
            found.append(BESIDE_CALLS)
    elif filters.subject is not None:
        found.append(BESIDE_CALLS)  # only these rows contain the filtered column
    if filters.session_id is not None:
        # Sessions have no index; no row of a session is older than the session.
        began = select(SessionRow.created_at).where(SessionRow.id == filters.session_id)
        found.append(col(AuditRow.ts) >= func.coalesce(began.scalar_subquery(), ""))
    if filters.since is not None:
        found.append(col(AuditRow.ts) >= filters.since)
    if filters.until is not None:
        found.append(col(AuditRow.ts) < filters.until)
    return found


class AuditReader:
    """Queries of the audit; each is bounded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, filters: AuditFilters, *, limit: int, before: int | None = None
    ) -> Sequence[AuditRow]:
        """Return a page, newest first. `before` is the last `seq` of the previous page."""
        query = select(AuditRow).where(*conditions(filters))
        if before is not None:
            query = query.where(col(AuditRow.seq) < before)
        query = query.order_by(col(AuditRow.seq).desc()).limit(limit)
        return await self._database.all(query)

    async def after(
        self, filters: AuditFilters, seq: int, *, upto: int | None = None, limit: int = PAGE
    ) -> Sequence[AuditRow]:
        """Return rows after `seq`, oldest first."""
        query = select(AuditRow).where(*conditions(filters), col(AuditRow.seq) > seq)
        if upto is not None:
            query = query.where(col(AuditRow.seq) <= upto)
        query = query.order_by(col(AuditRow.seq)).limit(limit)
        return await self._database.all(query)

    async def last(self) -> int:
        """Return the newest `seq`; 0 if there are no rows."""
        async with self._database.session() as session:
            return (await session.exec(select(func.max(AuditRow.seq)))).one() or 0

    async def export(self, filters: AuditFilters) -> AsyncIterator[bytes]:
        """Yield lines of JSON, oldest first, up to the row that is newest now."""
        upto, seen = await self.last(), 0
        while rows := await self.after(filters, seen, upto=upto):
            yield b"".join(line(row) for row in rows)
            seen = rows[-1].seq


def facts(row: AuditRow) -> dict[str, Any]:
    """Return a row as JSON, with its detail parsed."""
    return {**row.model_dump(exclude={"detail"}), "detail": _detail(row.detail)}


def line(row: AuditRow) -> bytes:
    """Return a row as one line of JSON; its `detail` is the text covered by the hash."""
    return dump_json({name: getattr(row, name) for name in _ORDER}) + b"\n"


def _detail(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # changed manually; verification will report it
