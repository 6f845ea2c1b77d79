"""Maintenance of the audit log: external record of its head, deletion of old rows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.core.background import background
from app.core.clock import Clock, isoformat, stamp
from app.core.errors import StorageUnavailable
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.anchor import FILE_NAME, Anchor, AnchorFile
from app.governance.audit.chain import COLUMNS, TRIMMED, Break, ChainWalk
from app.governance.audit.log import AuditEntry, AuditLog

log = logging.getLogger(__name__)

LOOK_S = 1.0
ANCHOR_S = 5.0
ANCHOR_ROWS = 1000
TRIM_EVERY_S = 24 * 3600.0
TRIM_ROWS = 500
_SYSTEM = "system"
_TOUCH = "UPDATE audit_head SET seq = seq WHERE id = 1"
_HEAD = "SELECT seq, hash, first_seq, first_previous FROM audit_head WHERE id = 1"
_OLDEST = f"SELECT {COLUMNS} FROM audit WHERE seq >= ? ORDER BY seq LIMIT {TRIM_ROWS}"  # noqa: S608 - constants
_REMOVE = "DELETE FROM audit WHERE seq < ?"
_BEGIN = "UPDATE audit_head SET first_seq = ?, first_previous = ? WHERE id = 1"


@asynccontextmanager
async def maintained(
    audit: AuditLog, db: DatabaseWriter, clock: Clock, folder: Path, *, retention_days: int
) -> AsyncIterator[None]:
    """Maintain the audit of an installation for the duration of the block."""
    anchors = AnchorFile(folder / FILE_NAME)
    maintenance = AuditMaintenance(audit, db, clock, anchors, retention_days=retention_days)
    try:
        async with background(maintenance.run()):
            yield
    finally:
        await maintenance.close()


class AuditMaintenance:
    """Background maintenance: `run` until cancelled, then `close`."""

    def __init__(
        self,
        audit: AuditLog,
        db: DatabaseWriter,
        clock: Clock,
        anchors: AnchorFile,
        *,
        retention_days: int = 0,
    ) -> None:
        self._audit = audit
        self._db = db
        self._clock = clock
        self._anchors = anchors
        self._retention_days = retention_days
        self._anchored = 0
        self._anchored_at = float("-inf")
        self._trimmed_at = float("-inf")

    async def run(self) -> None:
        """Maintain the audit until cancelled; wait while the database is unavailable."""
        while True:
            try:
                await self._look()
            except (StorageUnavailable, OSError) as error:
                log.warning("cannot record the chain head of the audit log: %s", error)
            await asyncio.sleep(LOOK_S)

    async def close(self) -> None:
        """Record the head once more; a failure is only logged."""
        try:
            if self._audit.written != self._anchored:
                await self.anchor()
        except (StorageUnavailable, OSError) as error:
            log.warning("cannot record the chain head of the audit log: %s", error)

    async def _look(self) -> None:
        now = self._clock.monotonic()
        new = self._audit.written - self._anchored
        if new >= ANCHOR_ROWS or (new and now - self._anchored_at >= ANCHOR_S):
            await self.anchor()
        if now - self._trimmed_at >= TRIM_EVERY_S:
            self._trimmed_at = now
            await self.trim()

    async def anchor(self) -> None:
        """Record the current head, after syncing the chain itself to disk.

        Raises:
            StorageUnavailable: the database is not writable.
            OSError: the file is not writable.
        """
        written, self._anchored_at = self._audit.written, self._clock.monotonic()
        head = await self._db.transact(_flushed_head)
        if head is not None:
            anchor = Anchor(head[0], head[1], stamp(self._clock.time()))
            await asyncio.to_thread(self._anchors.append, anchor)
        self._anchored = written

    async def trim(self) -> int:
        """Delete rows older than the retention period; return their number.

        Deletes in small transactions, each with an audit row. A broken part of the chain is
        evidence, so none of it is deleted.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        if not self._retention_days:
            return 0
        until = isoformat(self._clock.now() - timedelta(days=self._retention_days))
        removed = 0
        while gone := await self._db.transact(lambda work: self._trim_some(work, until)):
            removed += gone
        return removed

    def _trim_some(self, transaction: Transaction, until: str) -> int:
        head = transaction.fetch(_HEAD)
        if not head:
            return 0
        first: int = head[0][2]
        previous: str = head[0][3]
        walk = ChainWalk(first, previous)
        for row in transaction.fetch(_OLDEST, (first,)):
            if row[1] >= until:
                break
            broken = walk.check([row])
            if broken is not None:
                _warn(broken)
                break
        removed = walk.next_seq - first
        if removed:
            transaction.execute(_BEGIN, (walk.next_seq, walk.previous))
            transaction.execute(_REMOVE, (walk.next_seq,))
            facts: dict[str, Any] = {
                "first_seq": walk.next_seq,
                "removed": removed,
                "older_than": until,
                "days": self._retention_days,
            }
            self._audit.within(transaction, AuditEntry(TRIMMED, actor=_SYSTEM, detail=facts))
        return removed


def _flushed_head(transaction: Transaction) -> tuple[Any, ...] | None:
    """Return the head. Writing to it makes this commit sync all earlier rows."""
    if not transaction.execute(_TOUCH):
        return None
    return transaction.fetch(_HEAD)[0]


def _warn(broken: Break) -> None:
    log.error("keeping old rows of the audit log because the chain is broken: %s", broken.why)
