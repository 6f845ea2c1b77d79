"""Durations in people's notation and ISO 8601: `90m`, `2 days`, `P1M2DT3H`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from app.core.errors import ToolFailed

UNITS = (
    "milliseconds",
    "seconds",
    "minutes",
    "hours",
    "days",
    "weeks",
    "months",
    "years",
    "business_days",
)
MOST_BUSINESS_DAYS = 100_000
"""Maximum business days: they are counted one by one."""
_SHORT = {
    "ms": "milliseconds",
    "s": "seconds",
    "sec": "seconds",
    "secs": "seconds",
    "m": "minutes",
    "min": "minutes",
    "mins": "minutes",
    "h": "hours",
    "hr": "hours",
    "hrs": "hours",
    "d": "days",
    "w": "weeks",
    "mo": "months",
    "y": "years",
    "yr": "years",
    "yrs": "years",
}
_NAMES = _SHORT | {unit: unit for unit in UNITS} | {unit[:-1]: unit for unit in UNITS}
SECONDS = {
    "milliseconds": Decimal("0.001"),
    "seconds": Decimal(1),
    "minutes": Decimal(60),
    "hours": Decimal(3600),
}
"""Units of the same length on every day of the year."""
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_PART = re.compile(rf"\s*{_NUMBER}\s*([a-z_]+)\s*(?:,|and\b)?", re.ASCII)
_ISO = re.compile(
    rf"P(?=.)(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII,
)
_ISO_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")


@dataclass(frozen=True, slots=True)
class Duration:
    """Calendar parts, which follow the wall clock, and an elapsed time."""

    months: int = 0
    days: int = 0
    business_days: int = 0
    passing: timedelta = timedelta()

    def __add__(self, other: Duration) -> Duration:
        return Duration(
            self.months + other.months,
            self.days + other.days,
            self.business_days + other.business_days,
            self.passing + other.passing,
        )

    def __neg__(self) -> Duration:
        return Duration(-self.months, -self.days, -self.business_days, -self.passing)


def of_unit(amount: Decimal, unit: str) -> Duration:
    """Return `amount` of one of `UNITS`.

    Raises:
        ToolFailed: `bad_duration`: days and longer units must be whole numbers, business days at
            most `MOST_BUSINESS_DAYS`.
        OverflowError: it exceeds the calendar.
    """
    if unit in SECONDS:
        microseconds = int((amount * SECONDS[unit] * 1_000_000).to_integral_value())
        return Duration(passing=timedelta(microseconds=microseconds))
    whole = int(amount)
    if whole != amount:
        raise ToolFailed(
            f"{unit} must be whole numbers, because their length varies; use a smaller unit",
            code="bad_duration",
        )
    if unit == "business_days":
        if abs(whole) > MOST_BUSINESS_DAYS:
            raise ToolFailed(
                f"at most {MOST_BUSINESS_DAYS} business days at a time", code="bad_duration"
            )
        return Duration(business_days=whole)
    if unit in ("months", "years"):
        return Duration(months=whole * (12 if unit == "years" else 1))
    return Duration(days=whole * (7 if unit == "weeks" else 1))


def read_duration(text: str) -> Duration:
    """Parse a duration in either notation; a leading `-` negates it.

    Raises:
        ToolFailed: `bad_duration`.
        OverflowError: see `of_unit`.
    """
    body = text.strip()
    sign = body[:1] if body[:1] in ("+", "-") else ""
    body = body[len(sign) :].strip()
    iso = _ISO.fullmatch(body.upper()) if body[:1] in ("P", "p") else None
    parts = _iso_parts(iso) if iso is not None else _plain_parts(body.lower())
    if not parts:
        raise ToolFailed(
            f"{text[:60]!r} is not a duration; use 90m, 2 days, 1h30m or P1M2DT3H",
            code="bad_duration",
        )
    total = sum((of_unit(amount, unit) for amount, unit in parts), Duration())
    return -total if sign == "-" else total


def iso_duration(passing: timedelta) -> str:
    """Return ISO 8601 in days, hours, minutes and seconds."""
    if passing < timedelta():
        return f"-{iso_duration(-passing)}"
    minutes, seconds = divmod(passing.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{seconds}.{passing.microseconds:06d}".rstrip("0") if passing.microseconds else seconds
    time = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (shown, "S")) if n)
    days = f"{passing.days}D" if passing.days else ""
    return f"P{days}T{time}" if time else f"P{days or 'T0S'}"


def _iso_parts(match: re.Match[str]) -> list[tuple[Decimal, str]]:
    found = zip(match.groups(), _ISO_UNITS, strict=True)
    return [(Decimal(number), unit) for number, unit in found if number]


def _plain_parts(text: str) -> list[tuple[Decimal, str]]:
    parts: list[tuple[Decimal, str]] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        unit = _NAMES.get(part[2]) if part else None
        if part is None or unit is None:
            return []
        parts.append((Decimal(part[1]), unit))
        position = part.end()
    return parts
