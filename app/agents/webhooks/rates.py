"""How often something may happen: so many a minute, as many at once after a pause."""

from __future__ import annotations

from app.core.clock import Clock
from app.core.errors import RateLimited

_MINUTE_S = 60.0


class Rates:
    """A bucket per key, refilled evenly; keys are few."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def spend(self, key: str, per_minute: int) -> None:
        """Take one.

        Raises:
            RateLimited: there is none left; `retry_after_ms` says when there will be.
        """
        now = self._clock.monotonic()
        level, at = self._levels.get(key, (float(per_minute), now))
        level = min(float(per_minute), level + (now - at) * per_minute / _MINUTE_S)
        if level < 1:
            wait_ms = int((1 - level) * _MINUTE_S / per_minute * 1000) + 1
            raise RateLimited("Too many deliveries; wait a moment", retry_after_ms=wait_ms)
        self._levels[key] = (level - 1, now)
