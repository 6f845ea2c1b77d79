"""Replaceable clock: UTC-aware wall time for records, monotonic time for durations.

Tests use a `ManualClock`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current time, UTC-aware."""

    def time(self) -> float:
        """Return `now` as a Unix time, for frequent timestamps."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never decreases."""


class SystemClock:
    # Called several times per tool call, so without a Python function in between.
    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)

    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """Clock that only advances on request."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def time(self) -> float:
        return self._now.timestamp()

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds


def isoformat(moment: datetime) -> str:
    """Return a time as RFC 3339 with milliseconds and `Z`, the format of records and events."""
    return stamp(moment.timestamp())


# The last second and the last millisecond with their texts: each tuple is read and replaced as a
# whole, because several threads use them.
_second = (-1, "")
_millisecond = (-1, "")


def stamp(timestamp: float) -> str:
    """Return `isoformat` of a Unix time; it is formatted once per millisecond."""
    global _second, _millisecond  # noqa: PLW0603 - caches of one value
    millisecond = int(timestamp * 1000)
    last = _millisecond
    if millisecond == last[0]:
        return last[1]
    second, date = _second
    if second != millisecond // 1000:
        second = millisecond // 1000
        date = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        _second = second, date
    text = f"{date}{millisecond % 1000:03d}Z"
    _millisecond = millisecond, text
    return text
