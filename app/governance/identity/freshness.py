"""Reading again what another process may have changed in the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.core.clock import Clock
from app.core.errors import StorageUnavailable

REREAD_S = 1.0


class Freshness:
    """How old a copy of rows in memory is."""

    def __init__(self, clock: Clock, refresh: Callable[[], Awaitable[None]]) -> None:
        """Bind it.

        Args:
            refresh: reads the rows, and calls `read`.
        """
        self._clock = clock
        self._refresh = refresh
        self._read_at = float("-inf")

    def read(self) -> None:
        """Note that the rows were read now."""
        self._read_at = self._clock.monotonic()

    async def ensure(self) -> None:
        """Read the rows again when they are older than `REREAD_S`.

        Raises:
            StorageUnavailable: the rows were never read, and cannot be read now.
        """
        if self._clock.monotonic() - self._read_at <= REREAD_S:
            return
        try:
            await self._refresh()
        except StorageUnavailable:
            # What was read last still says who may come in; nothing was ever read: nobody.
            if self._read_at == float("-inf"):
                raise
