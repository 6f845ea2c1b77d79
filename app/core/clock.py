"""Time as a seam: UTC-aware wall time for records, monotonic time for durations.

Tests pass a `ManualClock`; nothing else in the house asks the operating system
for the time.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Current time, UTC-aware."""

    def time(self) -> float:
        """`now` as a Unix time, for what is stamped often."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""


class SystemClock:
    # Nothing of ours between a call and the operating system: each is asked several times.
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
    """RFC 3339 with milliseconds and `Z`, the form every record and event uses."""
    return stamp(moment.timestamp())


# The last second with its text, the last millisecond with its: read and replaced as wholes,
# because other threads stamp too.
_second = (-1, "")
_millisecond = (-1, "")


def stamp(timestamp: float) -> str:
    """`isoformat` of a Unix time; formatted once a millisecond, its date once a second."""
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
