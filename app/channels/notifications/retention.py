"""Deletion of old rows of the outbox, and of ended capabilities."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from app.channels.notifications.capabilities import AnswerCapabilities
from app.channels.notifications.outbox import NotificationOutbox
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from app.db.writer import DatabaseWriter, Transaction

log = logging.getLogger(__name__)

TRIM_EVERY_S = 24 * 3600.0
AGAIN_S = 60.0
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
        while True:
            with ErrorBoundary() as held:
                await self.trim()
            if isinstance(held.error, StorageUnavailable):
                log.warning("cannot delete old notifications: %s", held.error)
            elif held.error is not None:
                log.error("cannot delete old notifications", exc_info=held.error)
            await asyncio.sleep(TRIM_EVERY_S if held.error is None else AGAIN_S)
