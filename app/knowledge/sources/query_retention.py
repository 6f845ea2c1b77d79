"""Deletion of old rows of the query audit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
# Rows are ordered by time, so the oldest need no separate index.
_REMOVE = (
    "DELETE FROM query_audit WHERE ts < ? AND seq IN"
    " (SELECT seq FROM query_audit ORDER BY seq LIMIT ?)"
)


class QueryRetention:
    """Deletes queries older than `days`; 0 keeps them forever."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog, *, days: int) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._days = days

    async def trim(self) -> int:
        """Delete old rows in small transactions, each with an audit line; return their number.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        if not self._days:
            return 0
        until = isoformat(self._clock.now() - timedelta(days=self._days))
        removed = 0
        while gone := await self._db.transact(lambda work: self._trim_some(work, until)):
            removed += gone
        return removed

    async def run(self) -> None:
        """Trim now and once a day until cancelled; after a failure, a minute later."""
        while True:
            with ErrorBoundary() as held:
                await self.trim()
            if isinstance(held.error, StorageUnavailable):
                log.warning("cannot delete old queries of agents: %s", held.error)
            elif held.error is not None:
                log.error("cannot delete old queries of agents", exc_info=held.error)
            await asyncio.sleep(TRIM_EVERY_S if held.error is None else AGAIN_S)

    def _trim_some(self, transaction: Transaction, until: str) -> int:
        removed = transaction.execute(_REMOVE, (until, TRIM_ROWS))
        if removed:
            facts = {"removed": removed, "older_than": until, "days": self._days}
            self._audit.within(transaction, AuditEntry("sql.trimmed", actor="system", detail=facts))
        return removed


@asynccontextmanager
async def queries_trimmed(
    db: DatabaseWriter, clock: Clock, audit: AuditLog, *, days: int
) -> AsyncIterator[None]:
    """Maintain the query audit for the duration of the block."""
    async with background(QueryRetention(db, clock, audit, days=days).run()):
        yield
