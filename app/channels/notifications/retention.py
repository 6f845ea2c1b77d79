"""Deletion of old rows of the outbox, and of ended capabilities."""

from __future__ import annotations

from datetime import timedelta

from app.channels.notifications.capabilities import AnswerCapabilities
from app.channels.notifications.outbox import NotificationOutbox
from app.core.clock import Clock, isoformat
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.retention import trim_daily

TRIM_ROWS = 500
CAPABILITY_DAYS = 1


class NotificationRetention:
    """Deletes messages that ended more than `days` ago; 0 keeps them forever."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        outbox: NotificationOutbox,
        capabilities: AnswerCapabilities,
        *,
        days: int,
    ) -> None:
        self._db = db
        self._clock = clock
        self._outbox = outbox
        self._capabilities = capabilities
        self._days = days

    async def trim(self) -> int:
        """Delete old rows in small transactions; return the number of deleted messages.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        ended = (self._clock.now() - timedelta(days=CAPABILITY_DAYS)).timestamp()

        def forget(transaction: Transaction) -> int:
            return self._capabilities.trim(transaction, ended, TRIM_ROWS)

        while await self._db.transact(forget):
            pass
        if not self._days:
            return 0
        until = isoformat(self._clock.now() - timedelta(days=self._days))

        def trim(transaction: Transaction) -> int:
            return self._outbox.trim(transaction, until, TRIM_ROWS)

        removed = 0
        while gone := await self._db.transact(trim):
            removed += gone
        return removed

    async def run(self) -> None:
        """Trim now and once a day until cancelled; after a failure, a minute later."""
        await trim_daily(self.trim, "notifications")
