"""Timing of schedules: by a cron expression, an interval, or once.

At changes of daylight saving time, cron expressions behave as in Debian's cron: a skipped time
occurs right after the gap, a repeated time occurs once, and hourly or shorter intervals follow real
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from app.domain.datetimes import check_moment, to_utc

_FIELDS = 5
_LOOKED_AT = 200
_MAX_YEAR = 9000
_IN = re.compile(r"in (\d{1,7}) ?(s|m|h|d)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Timing:
    """Exactly one of `cron`, `every_seconds` and `at` is set; or `cron` with its single occurrence.

    Attributes:
        at: the single time.
        timezone: time zone of `cron`.
        since: start of `every_seconds`; aware.
    """

    timezone: str
    since: datetime
    cron: str | None = None
    every_seconds: int | None = None
    at: datetime | None = None

    @property
    def is_one_shot(self) -> bool:
        """Return whether it is one occurrence of a cron expression; the schedule is then
        deleted.
        """
        return self.cron is not None and self.at is not None

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`, in UTC; None if there is none."""
        return next(self.times(moment), None)

    def times(self, moment: datetime) -> Iterator[datetime]:
        """Yield all times after `moment`, in UTC, in order."""
        if self.at is not None:
            if self.at > moment:
                yield self.at.astimezone(UTC)
        elif self.cron is not None:
            yield from self._by_cron(moment)
        elif self.every_seconds is not None:
            yield from self._by_interval(moment, self.every_seconds)

    def latest(self, after: datetime, until: datetime) -> tuple[datetime | None, int]:
        """Return the last time in `(after, until]`, and the number of times, up to a limit."""
        if self.every_seconds is not None:
            return self._latest_of_interval(after, until, self.every_seconds)
        found, count = None, 0
        for time in self.times(after):
            if time > until:
                break
            found, count = time, count + 1
            if count == _LOOKED_AT:
                return self._last_before(until, found), count
        return found, count

    def _last_before(self, until: datetime, found: datetime) -> datetime:
        """Return the last time after a long stop, without iterating over all of them."""
        for days in (1, 32, 400, 4000):
            start = until - timedelta(days=days)
            if start <= found:
                break
            last = found
            for time in self.times(start):
                if time > until:
                    break
                last = time
            if last > found:
                return last
        last = found
        for time in self.times(found):
            if time > until:
                break
            last = time
        return last

    def _latest_of_interval(
        self, after: datetime, until: datetime, every: int
    ) -> tuple[datetime | None, int]:
        first = next(self._by_interval(after, every), None)
        if first is None or first > until:
            return None, 0
        steps = int((until - first).total_seconds()) // every
        return first + timedelta(seconds=steps * every), steps + 1

    def _by_cron(self, moment: datetime) -> Iterator[datetime]:
        from cronsim import CronSim

        assert self.cron is not None
        local = moment.astimezone(ZoneInfo(self.timezone)).replace(microsecond=0)
        previous = moment
        for time in CronSim(self.cron, local):
            if time.year > _MAX_YEAR:
                return
            found = time.astimezone(UTC)
            if found > previous:
                previous = found
                yield found

    def _by_interval(self, moment: datetime, every: int) -> Iterator[datetime]:
        passed = max(0, int((moment - self.since).total_seconds()))
        step = passed // every + 1
        while True:
            try:
                yield (self.since + timedelta(seconds=step * every)).astimezone(UTC)
            except OverflowError:
                return
            step += 1


def check_cron(expression: str) -> str:
    """Return the expression with single spaces.

    Raises:
        ValueError: it does not have five fields, is invalid, or never occurs.
    """
    from cronsim import CronSim, CronSimError

    fields = expression.split()
    if len(fields) != _FIELDS:
        raise ValueError(
            f"cron must have {_FIELDS} fields (minute hour day month weekday), not "
            f"{len(fields)}; seconds are not supported"
        )
    try:
        next(CronSim(" ".join(fields), datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ValueError(f"cron {expression[:80]!r}: {error}") from None
    except StopIteration:
        raise ValueError(f"cron {expression[:80]!r} never occurs") from None
    return " ".join(fields)


def check_interval(timing: Timing, at_least_s: int) -> None:
    """Refuse schedules that occur more often than the operator allows.

    Raises:
        ValueError: two times are closer together.
    """
    times = islice(timing.times(timing.since), _LOOKED_AT)
    closest = min(((b - a).total_seconds() for a, b in pairwise(times)), default=None)
    if closest is not None and closest < at_least_s:
        raise ValueError(
            f"it would run every {closest:g} s; the minimum interval is {at_least_s} s"
        )


def moment_of(text: str, timezone: str, now: datetime) -> datetime:
    """Parse `in 10m`, or ISO 8601 as accepted by `to_utc`.

    Raises:
        ValueError: it is neither, clocks skip it, or it is out of range.
    """
    if found := _IN.fullmatch(text.strip()):
        # Whole milliseconds, as stored: the remainder would count as a second, later time.
        kept = now.replace(microsecond=now.microsecond // 1000 * 1000)
        try:
            return kept + timedelta(seconds=int(found[1]) * _UNITS[found[2]])
        except OverflowError:
            raise ValueError(f"{text.strip()!r} is outside the calendar") from None
    return to_utc(check_moment(text.strip()), timezone)
