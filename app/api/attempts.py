"""Failures per source address: a few at once, then one every few seconds."""

from __future__ import annotations

from collections import OrderedDict

from app.core.clock import Clock
from app.core.errors import RateLimited

MAX_SOURCES = 10_000
MINUTE_S = 60.0


class Attempts:
    """A token bucket per source, refilled evenly within a minute.

    Sources that were quiet the longest are forgotten first when there are too many.
    """

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self._clock = clock
        self._burst = float(per_minute)
        self._rate = per_minute / MINUTE_S
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, source: str) -> None:
        """Take one attempt.

        Raises:
            RateLimited: there is none left; `retry_after_ms` says when there will be.
        """
        if not self.try_spend(source):
            wait_ms = int((1 - self._level(source)) / self._rate * 1000) + 1
            raise RateLimited("Too many failed attempts; wait a moment", retry_after_ms=wait_ms)

    def try_spend(self, source: str) -> bool:
        """Take one attempt; False when there is none left."""
        level = self._level(source)
        if level < 1:
            return False
        self._keep(source, level - 1)
        return True

    def refund(self, source: str) -> None:
        """Give an attempt back: it was no failure."""
        self._keep(source, min(self._burst, self._level(source) + 1))

    def _level(self, source: str) -> float:
        now = self._clock.monotonic()
        level, at = self._levels.get(source, (self._burst, now))
        return min(self._burst, level + (now - at) * self._rate)

    def _keep(self, source: str, level: float) -> None:
        self._levels[source] = (level, self._clock.monotonic())
        self._levels.move_to_end(source)
        if len(self._levels) > MAX_SOURCES:
            self._levels.popitem(last=False)
