"""Dates and times: parsing of input, and the stored form."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field

from app.core.clock import isoformat
from app.core.field_problems import FieldError

_BEYOND = "the time is outside the calendar"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise FieldError(
            f"unknown time zone {name[:60]!r}; use a name such as 'Europe/Berlin' or 'UTC'",
            code="unknown_zone",
        ) from None
    return name


def check_moment(text: str) -> str:
    """Return `text` if it is a date or a time.

    Raises:
        ValueError: it is neither.
    """
    try:
        date.fromisoformat(text) if is_date(text) else datetime.fromisoformat(text)
    except ValueError:
        raise FieldError(
            f"{text[:60]!r} is not a date or time; use 2026-11-30 or 2026-11-30T14:00",
            code="no_time",
        ) from None
    return text


ZoneName = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_zone)]
"""IANA name of a time zone."""

MomentText = Annotated[str, Field(min_length=8, max_length=40), AfterValidator(check_moment)]
"""ISO 8601: a date, or a time with or without its offset."""


def is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None


def to_utc(text: str, zone: str) -> datetime:
    """Return the time in UTC; for a date, its start in `zone`.

    Raises:
        ValueError: clocks in `zone` skip the time, or it is out of range.
    """
    tz = ZoneInfo(zone)
    if is_date(text):
        local = datetime.combine(date.fromisoformat(text), time.min, tz)
        return _in_utc(local)
    given = datetime.fromisoformat(text)
    if given.tzinfo is not None:
        return _in_utc(given)
    local = given.replace(tzinfo=tz)
    if _in_utc(local).astimezone(tz).replace(tzinfo=None) != given:
        raise FieldError(
            f"clocks in {zone} skip {text}; use a time with its offset", code="skipped_time"
        )
    return _in_utc(local)


def next_day(moment: datetime, zone: str) -> datetime:
    """Return the start of the next day in `zone`.

    Raises:
        ValueError: it is out of range.
    """
    tz = ZoneInfo(zone)
    try:
        day = moment.astimezone(tz).date() + timedelta(days=1)
    except OverflowError:
        raise FieldError(_BEYOND, code="beyond_calendar") from None
    return _in_utc(datetime.combine(day, time.min, tz))


def kept(text: str, zone: str) -> str:
    """Return a date unchanged, a time in UTC: both compare as text.

    Raises:
        ValueError: see `to_utc`.
    """
    return text if is_date(text) else isoformat(to_utc(text, zone))


def shown(moment: str, zone: str) -> str:
    """Return a time of the database as local time in `zone`."""
    return datetime.fromisoformat(moment).astimezone(ZoneInfo(zone)).isoformat(timespec="minutes")


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise FieldError(_BEYOND, code="beyond_calendar") from None
