"""Calendar arithmetic: months of different lengths, days of 23 hours, business days."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from app.tools.data.durations import Duration
from app.tools.data.time_zones import on_the_clock

_FRIDAY = 4
_WORKING = 5
_DAY = timedelta(days=1)

Holidays = Collection[date]


@dataclass(frozen=True, slots=True)
class Apart:
    """Calendar difference of two times; all parts have the same sign."""

    years: int
    months: int
    days: int
    hours: int
    minutes: int
    seconds: float

    def to_text(self) -> str:
        named = (
            (self.years, "year"),
            (self.months, "month"),
            (self.days, "day"),
            (self.hours, "hour"),
            (self.minutes, "minute"),
            (self.seconds, "second"),
        )
        shown = [f"{n:g} {unit}{'' if abs(n) == 1 else 's'}" for n, unit in named if n]
        return " ".join(shown) or "0 seconds"


def step(start: datetime, by: Duration, holidays: Holidays, notes: list[str]) -> datetime:
    """Return `start` moved by months, then days, both on the wall clock, then by elapsed time.

    A day missing in the month becomes its last day.

    Raises:
        OverflowError, ValueError: outside the years 1 to 9999.
    """
    zone = start.tzinfo
    assert zone is not None
    moved = start
    if by.months or by.days or by.business_days:
        wall = _months_later(start.replace(tzinfo=None, fold=0), by.months, notes)
        wall += by.days * _DAY
        wall = _business_days_later(wall, by.business_days, holidays)
        stayed = wall == start.replace(tzinfo=None, fold=0)
        moved = start if stayed else on_the_clock(wall, zone, notes)
    return (moved.astimezone(UTC) + by.passing).astimezone(zone) if by.passing else moved


def apart(start: datetime, end: datetime) -> Apart:
    """Return the difference from `start` to `end`, in the time zone of `start`."""
    # Two times in the same zone would be compared by wall clock.
    goal = end.astimezone(UTC)
    if goal < start.astimezone(UTC):
        back = apart(end.astimezone(start.tzinfo), start)
        return Apart(
            -back.years, -back.months, -back.days, -back.hours, -back.minutes, -back.seconds
        )
    last = goal.astimezone(start.tzinfo)
    months = (last.year - start.year) * 12 + last.month - start.month
    months -= _reach(start, months, 0) > goal
    from_here = _reach(start, months, 0).astimezone(start.tzinfo)
    days = (last.date() - from_here.date()).days
    days -= days > 0 and _reach(start, months, days) > goal
    rest = goal - _reach(start, months, days)
    minutes, seconds = divmod(rest.total_seconds(), 60)
    hours, left = divmod(int(minutes), 60)
    return Apart(months // 12, months % 12, days, hours, left, round(seconds, 6))


def business_days(start: date, end: date, holidays: Holidays) -> int:
    """Return the weekdays from `start` (inclusive) to `end` (exclusive), without holidays."""
    if end < start:
        return -business_days(end, start, holidays)
    weeks, rest = divmod((end - start).days, 7)
    loose = sum((start.weekday() + day) % 7 <= _FRIDAY for day in range(rest))
    off = sum(start <= day < end and day.weekday() <= _FRIDAY for day in set(holidays))
    return weeks * _WORKING + loose - off


def _reach(start: datetime, months: int, days: int) -> datetime:
    return step(start, Duration(months=months, days=days), (), []).astimezone(UTC)


def _months_later(wall: datetime, months: int, notes: list[str]) -> datetime:
    if not months:
        return wall
    years, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if not 1 <= years <= 9999:
        raise OverflowError
    last = monthrange(years, month + 1)[1]
    if wall.day > last:
        notes.append(f"{years:04d}-{month + 1:02d} has no day {wall.day}; its last day is used.")
    return wall.replace(year=years, month=month + 1, day=min(wall.day, last))


def _business_days_later(wall: datetime, days: int, holidays: Holidays) -> datetime:
    toward = _DAY if days > 0 else -_DAY
    off = set(holidays)
    for _ in range(abs(days)):
        wall += toward
        while wall.weekday() > _FRIDAY or wall.date() in off:
            wall += toward
    return wall
