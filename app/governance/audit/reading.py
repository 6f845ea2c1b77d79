"""Reading the audit: pages for people, a stream for machines. Nothing here writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import func
from sqlmodel import col, select

from app.core.clock import isoformat
from app.core.errors import InvalidInput
from app.core.text import dump_json
from app.db.engine import Database
from app.db.tables import BESIDE_CALLS, AuditRow, SessionRow

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


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows are wanted; None wants all.

    Attributes:
        kind: how the kind begins: `governance.` is every change of an administrator.
        since, until: moments as rows have them, the first counted in, the last not.
    """

    kind: str | None = None
    actor: str | None = None
    subject: str | None = None
    tool_name: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    operation_id: str | None = None
    verdict: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None

    def conditions(self) -> list[Any]:
        """As SQL."""
        wanted = {field.name: getattr(self, field.name) for field in fields(self)}
        found: list[Any] = [
            col(column) == wanted[name]
            for name, column in _COLUMNS.items()
            if wanted[name] is not None
        ]
        if self.kind is not None:
            found.append(func.substr(AuditRow.kind, 1, len(self.kind)) == self.kind)
            if not _CALL_ENDS.startswith(self.kind):
                found.append(BESIDE_CALLS)
        elif self.subject is not None:
            found.append(BESIDE_CALLS)  # the ends of calls are about nothing else
        if self.session_id is not None:
            # No index leads to a session's rows; nothing of it is older than itself.
            began = select(SessionRow.created_at).where(SessionRow.id == self.session_id)
            found.append(col(AuditRow.ts) >= func.coalesce(began.scalar_subquery(), ""))
        if self.since is not None:
            found.append(col(AuditRow.ts) >= self.since)
        if self.until is not None:
            found.append(col(AuditRow.ts) < self.until)
        return found


class AuditReader:
    """Queries over the audit; every one of them is bounded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, filters: Filters, *, limit: int, before: int | None = None
    ) -> Sequence[AuditRow]:
        """Newest first. `before` is the `seq` of the last row seen."""
        query = select(AuditRow).where(*filters.conditions())
        if before is not None:
            query = query.where(col(AuditRow.seq) < before)
        query = query.order_by(col(AuditRow.seq).desc()).limit(limit)
        async with self._database.session() as session:
            return (await session.exec(query)).all()

    async def after(
        self, filters: Filters, seq: int, *, upto: int | None = None, limit: int = PAGE
    ) -> Sequence[AuditRow]:
        """Oldest first, behind `seq`."""
        query = select(AuditRow).where(*filters.conditions(), col(AuditRow.seq) > seq)
        if upto is not None:
            query = query.where(col(AuditRow.seq) <= upto)
        query = query.order_by(col(AuditRow.seq)).limit(limit)
        async with self._database.session() as session:
            return (await session.exec(query)).all()

    async def last(self) -> int:
        """The newest row; 0 when there is none."""
        async with self._database.session() as session:
            return (await session.exec(select(func.max(AuditRow.seq)))).one() or 0

    async def export(self, filters: Filters) -> AsyncIterator[bytes]:
        """Lines of JSON, oldest first, up to the row that is the newest now."""
        upto, seen = await self.last(), 0
        while rows := await self.after(filters, seen, upto=upto):
            yield b"".join(line(row) for row in rows)
            seen = rows[-1].seq


def facts(row: AuditRow) -> dict[str, Any]:
    """A row as JSON, with its detail read."""
    return {**row.model_dump(exclude={"detail"}), "detail": _detail(row.detail)}


def line(row: AuditRow) -> bytes:
    """A row as one line of JSON; its `detail` is the text that the hash covers."""
    return dump_json({name: getattr(row, name) for name in _ORDER}) + b"\n"


def moment_of(text: str, field: str) -> str:
    """A moment as rows have it.

    Raises:
        InvalidInput: it is not a date or a time of ISO 8601; without a zone it means UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return isoformat(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{field} must be a date or a time such as 2026-11-21T09:30:00Z", field=field
        ) from None


def _detail(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # changed by hand; verifying will say so
