"""Deletion of old rows of tables beside the audit log, which records their number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from app.core.background import background
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog

log = logging.getLogger(__name__)

TRIM_EVERY_S = 24 * 3600.0
AGAIN_S = 60.0
TRIM_ROWS = 500


@dataclass(frozen=True, slots=True)
class Kept:
    """Table whose rows are kept for some days.

    Attributes:
        table: has a growing key `seq` and a time `ts`.
        kind: kind of the audit entry about deleted rows.
        days: 0 keeps them forever.
    """

    table: str
    kind: str
    days: int


class RowRetention:
    """Deletes rows older than `kept.days`."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog, kept: Kept) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._kept = kept
        # Rows are ordered by time, so the oldest need no separate index.
        self._remove = (
            f"DELETE FROM {kept.table} WHERE ts < ? AND seq IN"  # noqa: S608 - constants
            f" (SELECT seq FROM {kept.table} ORDER BY seq LIMIT ?)"
        )

    async def trim(self) -> int:
        """Delete old rows in small transactions, each with an audit line; return their number.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        if not self._kept.days:
            return 0
        until = isoformat(self._clock.now() - timedelta(days=self._kept.days))
        removed = 0
        while gone := await self._db.transact(lambda work: self._trim_some(work, until)):
            removed += gone
        return removed

    def _trim_some(self, transaction: Transaction, until: str) -> int:
        removed = transaction.execute(self._remove, (until, TRIM_ROWS))
        if removed:
            facts = {"removed": removed, "older_than": until, "days": self._kept.days}
            entry = AuditEntry(self._kept.kind, actor="system", detail=facts)
            self._audit.within(transaction, entry)
        return removed


async def trim_daily(trim: Callable[[], Awaitable[int]], subject: str) -> None:
    """Trim now and once a day until cancelled; after a failure, a minute later.

    Args:
        subject: what is trimmed, for the log.
    """
    while True:
        with ErrorBoundary() as held:
            await trim()
        if isinstance(held.error, StorageUnavailable):
            log.warning("cannot delete old %s: %s", subject, held.error)
        elif held.error is not None:
            log.error("cannot delete old %s", subject, exc_info=held.error)
        await asyncio.sleep(TRIM_EVERY_S if held.error is None else AGAIN_S)


@asynccontextmanager
async def trimmed(
    db: DatabaseWriter, clock: Clock, audit: AuditLog, kept: Kept
) -> AsyncIterator[None]:
    """Delete old rows for the duration of the block."""
    retention = RowRetention(db, clock, audit, kept)
    async with background(trim_daily(retention.trim, f"rows of {kept.table}")):
        yield
