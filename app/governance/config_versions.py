"""Detection of changes by other processes on the same database.

Every change increments its subject's number in the same transaction. A process reads all numbers
once a second and reloads changed subjects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from app.core.error_boundary import ErrorBoundary
from app.db.writer import DatabaseWriter, Transaction

log = logging.getLogger(__name__)

POLL_S = 1.0
_READ = "SELECT subject, number FROM changes"
_INCREMENT = (
    "INSERT INTO changes (subject, number) VALUES (?, 1)"
    " ON CONFLICT (subject) DO UPDATE SET number = changes.number + 1"
)
_NUMBER = "SELECT number FROM changes WHERE subject = ?"

Reload = Callable[[], Awaitable[None]]


def increment(transaction: Transaction, subject: str) -> None:
    """Notify other processes of a change, when this transaction commits."""
    transaction.execute(_INCREMENT, (subject,))


def number_of(transaction: Transaction, subject: str) -> int:
    """Return the change counter of the subject."""
    rows = transaction.fetch(_NUMBER, (subject,))
    return int(rows[0][0]) if rows else 0


class ConfigVersions:
    """Change counters of all subjects as seen by this process."""

    def __init__(self, db: DatabaseWriter) -> None:
        self._db = db
        self._seen: dict[str, int] = {}
        self._reload: dict[str, Reload] = {}

    def watch(self, subject: str, reload: Reload) -> None:
        """Call `reload` when another process has changed the subject."""
        self._reload[subject] = reload

    def saw(self, subject: str, number: int) -> None:
        """Record the loaded version, so that it is not loaded twice."""
        self._seen[subject] = max(number, self._seen.get(subject, 0))

    async def poll(self) -> None:
        """Check once, and reload every changed subject.

        Raises:
            StorageUnavailable: the database is currently not readable.
        """

        def read(transaction: Transaction) -> dict[str, int]:
            return dict(transaction.fetch(_READ))

        for subject, number in (await self._db.transact(read)).items():
            reload = self._reload.get(subject)
            if reload is not None and number > self._seen.get(subject, 0):
                await reload()
                self.saw(subject, number)

    async def run(self) -> None:
        """Check once a second until cancelled, regardless of errors."""
        while True:
            await asyncio.sleep(POLL_S)
            with ErrorBoundary() as held:
                await self.poll()
            if held.error is not None:
                log.warning("cannot see changes of other processes: %s", held.error)
