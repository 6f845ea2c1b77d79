"""Time zones by name, and wall clock times that are ambiguous or skipped."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from app.core.errors import ToolFailed

DEFAULT_ZONE = "UTC"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,2}", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)


def zone_of(name: str) -> tzinfo:
    """Return the zone of an IANA name such as `Europe/Berlin`, `UTC`, or an offset like `+08:00`.

    Raises:
        ToolFailed: `unknown_time_zone`; the message lists similar names.
    """
    if name.upper() in ("UTC", "Z"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None and (zone := _fixed(offset)) is not None:
        return zone
    # The name becomes a path below the zone files.
    if _NAME.fullmatch(name):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    close = get_close_matches(name[:60], _names(), n=3, cutoff=0.6)
    hint = f"; did you mean {', '.join(close)}?" if close else ", such as Europe/Berlin"
    raise ToolFailed(
        f"tz: {name[:60]!r} is not an IANA time zone{hint}", code="unknown_time_zone"
    ) from None


def zone_name(zone: tzinfo) -> str:
    """Return the name under which `zone_of` finds it."""
    if isinstance(zone, ZoneInfo):
        return zone.key
    return "UTC" if zone is UTC else offset_text(zone.utcoffset(None) or timedelta())


def offset_text(offset: timedelta) -> str:
    """Return `+01:00`; with seconds only if not zero, as before 1900."""
    sign, rest = ("-", -offset) if offset < timedelta() else ("+", offset)
    minutes, seconds = divmod(int(rest.total_seconds()), 60)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


def on_the_clock(wall: datetime, zone: tzinfo, notes: list[str]) -> datetime:
    """Return the time at which clocks in `zone` show `wall`.

    A skipped time is shifted by the change of the clocks; of an ambiguous time the first is used.
    Both are reported in `notes`.
    """
    first = wall.replace(tzinfo=zone, fold=0)
    moved = first.astimezone(UTC).astimezone(zone)
    if moved.replace(tzinfo=None, fold=0) != wall.replace(fold=0):
        notes.append(
            f"Clocks in {zone_name(zone)} skip {wall.isoformat(sep=' ')}; "
            f"{moved.replace(tzinfo=None).isoformat(sep=' ')} is used."
        )
        return moved
    second = wall.replace(tzinfo=zone, fold=1)
    if second.utcoffset() != first.utcoffset():
        notes.append(
            f"Clocks in {zone_name(zone)} show {wall.isoformat(sep=' ')} twice; the "
            f"first is used ({offset_text(first.utcoffset() or timedelta())}), not "
            f"{offset_text(second.utcoffset() or timedelta())}."
        )
    return first


def _fixed(offset: re.Match[str]) -> timezone | None:
    hours, minutes = int(offset[2]), int(offset[3] or 0)
    if hours > 18 or minutes > 59:
        return None
    distance = timedelta(hours=hours, minutes=minutes)
    return timezone(-distance if offset[1] == "-" else distance)


@lru_cache(maxsize=1)
def _names() -> list[str]:
    return sorted(available_timezones())
