"""Calendars of users."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.domain.plans import Appointment

MAX_APPOINTMENTS = 10_000
_MAX_OVERLAPS = 20

_COLUMNS = "id, title, notes, starts_at, ends_at, timezone, all_day, created_by, created_at"
_ADD = (
    "INSERT INTO appointments (owner, id, title, notes, starts_at, ends_at, timezone, all_day,"
    " created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_OF = f"SELECT {_COLUMNS} FROM appointments WHERE owner = ?"  # noqa: S608 - constants of this file
_DELETE = "DELETE FROM appointments WHERE owner = ? AND id = ?"
_COUNT = "SELECT COUNT(*) FROM appointments WHERE owner = ?"
_ORDER = " ORDER BY starts_at, id LIMIT ?"


class StoredCalendar:
    """`Calendar` in the database."""

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def add(
        self, owner: str, appointment: Appointment
    ) -> tuple[Appointment, list[Appointment]]:
        kept = replace(appointment, id=new_id("apt"), created_at=isoformat(self._clock.now()))

        def insert(transaction: Transaction) -> list[Appointment]:
            if transaction.fetch(_COUNT, (owner,))[0][0] >= MAX_APPOINTMENTS:
                raise ToolFailed(
                    f"The maximum of {MAX_APPOINTMENTS} appointments is reached: delete some",
                    code="too_many_appointments",
                )
            overlaps = transaction.fetch(
                f"{_OF} AND ends_at > ? AND starts_at < ?{_ORDER}",
                (owner, kept.starts_at, kept.ends_at, _MAX_OVERLAPS),
            )
            values = (
                *(kept.id, kept.title, kept.notes, kept.starts_at, kept.ends_at),
                *(kept.timezone, int(kept.all_day), kept.created_by, kept.created_at),
            )
            transaction.execute(_ADD, (owner, *values))
            return [_of(row) for row in overlaps]

        return kept, await self._db.transact(insert)

    async def between(
        self, owner: str, start: str | None, end: str | None, limit: int
    ) -> tuple[list[Appointment], int]:
        condition = " AND ends_at > ?"
        values = [owner, start or isoformat(self._clock.now())]
        if end is not None:
            condition += " AND starts_at < ?"
            values.append(end)

        def read(transaction: Transaction) -> tuple[list[Appointment], int]:
            rows = transaction.fetch(f"{_OF}{condition}{_ORDER}", (*values, limit))
            total = transaction.fetch(_COUNT + condition, values)[0][0]
            return [_of(row) for row in rows], total

        return await self._db.transact(read)

    async def remove(self, owner: str, appointment_id: str) -> Appointment:
        def drop(transaction: Transaction) -> Appointment:
            found = transaction.fetch(f"{_OF} AND id = ?", (owner, appointment_id))
            if not found:
                raise ToolFailed(
                    f"Appointment {appointment_id!r} not found; use `list` to show all",
                    code="not_found",
                )
            transaction.execute(_DELETE, (owner, appointment_id))
            return _of(found[0])

        return await self._db.transact(drop)


def _of(row: tuple[Any, ...]) -> Appointment:
    # SQLite has no boolean type.
    values = (*row[:6], bool(row[6]), *row[7:])
    return Appointment(*values)
