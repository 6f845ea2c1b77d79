"""Database values as JSON, and rows within their limits.

Numbers that JSON parsers would round become text, as do dates, in ISO 8601. Bytes become
`base64:…`. Longer values are truncated, with a note of their length.
"""

from __future__ import annotations

import asyncio
import math
from base64 import b64encode
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from app.core.text import clean, dump_json
from app.knowledge.sources.drivers.protocol import Rows, StatementLimits

MAX_CELL_CHARS = 20_000
_MAX_EXACT = 2**53
MAX_JSON_BYTES = 1_000_000
"""Maximum length of JSON from a database; longer values are truncated text."""
_MAX_DEPTH = 32


class Collector:
    """Collects rows up to the limits."""

    def __init__(self, columns: Sequence[str], bounds: StatementLimits) -> None:
        self._columns = unique_names(columns)
        self._bounds = bounds
        self._rows: list[list[Any]] = []
        self._bytes = 0
        self.is_full = False

    def add(self, row: Sequence[Any]) -> bool:
        """Add one row; False if it exceeds the limits, which ends the collection."""
        if self.is_full or len(self._rows) >= self._bounds.max_rows:
            self.is_full = True
            return False
        values = [as_json(value) for value in row]
        self._bytes += len(dump_json(values)) + 1
        if self._bytes > self._bounds.max_bytes:
            self.is_full = True
            return False
        self._rows.append(values)
        return True

    async def take(self, rows: Sequence[Sequence[Any]]) -> int:
        """Add rows in a thread, because one may contain millions of values; return how many fit."""
        return await asyncio.to_thread(lambda: sum(map(self.add, rows)))

    def rows(self) -> Rows:
        """Return the collected rows."""
        return Rows(self._columns, self._rows, self.is_full)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique column names."""
    taken: set[str] = set()
    apart: list[str] = []
    for name in map(clean, names):
        label, number = name, 1
        while label in taken:
            number += 1
            label = f"{name}_{number}"
        taken.add(label)
        apart.append(label)
    return tuple(apart)


def as_json(value: Any, depth: int = 0) -> Any:
    """Return one value in JSON form."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_EXACT <= value <= _MAX_EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _encoded(bytes(value))
    if depth < _MAX_DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [as_json(item, depth + 1) for item in value]
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {clean(str(key)): as_json(item, depth + 1) for key, item in value.items()}
    return shortened(_as_text(value))


def shortened(text: str) -> str:
    """Return at most `MAX_CELL_CHARS`, with a note if truncated."""
    if len(text) <= MAX_CELL_CHARS:
        return clean(text)
    return f"{clean(text[:MAX_CELL_CHARS])}… (cut: {len(text)} characters)"


def _encoded(data: bytes) -> str:
    most = MAX_CELL_CHARS * 3 // 4
    cut = f"… (cut: {len(data)} bytes)" if len(data) > most else ""
    return f"base64:{b64encode(data[:most]).decode()}{cut}"


def _as_text(value: Any) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else str(value)
    return str(value)


def _duration(value: timedelta) -> str:
    """Return ISO 8601: a time of MySQL may be negative and longer than a day."""
    seconds = abs(value).total_seconds()
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}PT{int(hours)}H{int(minutes)}M{seconds:g}S"
