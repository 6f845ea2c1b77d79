"""Time values in callers' notations: ISO 8601, Unix times, email dates, `in 10m`, `tomorrow`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from app.core.errors import ToolFailed
from app.tools.data.calendar_steps import step
from app.tools.data.durations import read_duration
from app.tools.data.time_zones import on_the_clock, zone_name

_UNIX = re.compile(r"@?(-?\d{9,17}(?:\.\d{1,9})?)|@(-?\d{1,17}(?:\.\d{1,9})?)", re.ASCII)
_ORDINAL = re.compile(r"(\d{4})-(\d{3})", re.ASCII)
_AHEAD = re.compile(r"in\s+(.+)", re.DOTALL)
_BEHIND = re.compile(r"(.+?)\s+ago", re.DOTALL)
_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_MILLISECONDS_FROM = 1e11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class TimeReader:
    """Parser of times for one call.

    Attributes:
        now: current time.
        zone: time zone of values without an offset, and of `today`.
        named: whether the caller chose `zone`.
        notes: assumptions made, as sentences.
    """

    now: datetime
    zone: tzinfo
    named: bool
    notes: list[str] = field(default_factory=list)

    def read(self, text: str) -> datetime:
        """Parse a time, in the zone of its own offset or in `zone`.

        Raises:
            ToolFailed: `bad_time`, or the error of a duration in it.
            OverflowError, ValueError: outside the years 1 to 9999.
        """
        value = " ".join(text.split())
        readers: tuple[Callable[[str], datetime | None], ...] = (
            self._relative,
            self._unix,
            self._ordinal,
            self._iso,
            self._mail,
        )
        for reader in readers:
            found = reader(value)
            if found is not None:
                return found
        raise ToolFailed(
            f"{text[:60]!r} is not a time; use 2026-11-30, 2026-11-30T14:00+01:00, a "
            "Unix time, now, tomorrow or in 10m",
            code="bad_time",
        )

    def _relative(self, value: str) -> datetime | None:
        word = value.lower()
        here = self.now.astimezone(self.zone)
        if word == "now":
            return here
        if word in _DAYS:
            day = here.date() + timedelta(days=_DAYS[word])
            return self._local(datetime.combine(day, time.min))
        if (ahead := _AHEAD.fullmatch(word)) is not None:
            return step(here, read_duration(ahead[1]), (), self.notes)
        if (behind := _BEHIND.fullmatch(word)) is not None:
            return step(here, -read_duration(behind[1]), (), self.notes)
        return None

    def _unix(self, value: str) -> datetime | None:
        match = _UNIX.fullmatch(value)
        if match is None:
            return None
        number = float(match[1] or match[2])
        milliseconds = abs(number) >= _MILLISECONDS_FROM
        self.notes.append(
            f"Interpreted as a Unix time in {'milli' if milliseconds else ''}seconds."
        )
        seconds = number / 1000 if milliseconds else number
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(self.zone)

    def _ordinal(self, value: str) -> datetime | None:
        match = _ORDINAL.fullmatch(value)
        if match is None:
            return None
        first = date(int(match[1]), 1, 1)
        day = first + timedelta(days=int(match[2]) - 1)
        if day.year != first.year:
            return None
        return self._local(datetime.combine(day, time.min))

    def _iso(self, value: str) -> datetime | None:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            try:
                moment = datetime.combine(date.fromisoformat(value), time.min)
            except ValueError:
                return None
        return self._local(moment) if moment.tzinfo is None else moment

    def _mail(self, value: str) -> datetime | None:
        from email.utils import parsedate_to_datetime

        try:
            moment = parsedate_to_datetime(value)
        except (TypeError, ValueError, IndexError):
            return None
        return self._local(moment) if moment.tzinfo is None else moment

    def _local(self, wall: datetime) -> datetime:
        if not self.named:
            note = f"No zone was given, so {zone_name(self.zone)}, the service's default, is used."
            if note not in self.notes:
                self.notes.append(note)
        return on_the_clock(wall, self.zone, self.notes)
