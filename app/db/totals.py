"""Totals of calls and runs by day, kept in the transaction of the rows that they count.

A report of a year then reads a few thousand rows, however many calls there were. Durations are
counted in classes that differ by 2 %, so that a percentile is known within 1 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

Row = Sequence[Any]
Fetch = Callable[..., list[tuple[Any, ...]]]

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
ASKED = "asked"
"""Status under which confirmations are counted; no call ends with it."""
NOT_RUN = -10_000
"""Class of calls that did not run."""
_STEP = math.log(1.02)
_DAY_CHARS = 10

_COUNT_CALLS = (
    "INSERT INTO call_totals (day, tool_name, agent_id, status, duration_class, calls)"
    " VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (day, tool_name, agent_id, status, duration_class)"
    " DO UPDATE SET calls = call_totals.calls + excluded.calls"
)
_HAS_ENDED = "SELECT 1 FROM tool_calls WHERE operation_id = ? AND status <> 'started'"
_NUMBERS = ("runs", *TOKENS, "cost", "unpriced_tokens")
_COUNT_RUN = (
    f"INSERT INTO run_totals (day, agent_id, model, {', '.join(_NUMBERS)})"  # noqa: S608
    f" VALUES (?, ?, ?, {', '.join('?' for _ in _NUMBERS)})"
    " ON CONFLICT (day, agent_id, model) DO UPDATE SET "
    + ", ".join(f"{name} = run_totals.{name} + excluded.{name}" for name in _NUMBERS)
)
_UNENDED_RUN = "SELECT started_at, agent_id, model FROM runs WHERE id = ? AND finished_at IS NULL"


def duration_class(seconds: float) -> int:
    """Return the class of a duration; `NOT_RUN` for none."""
    return round(math.log(seconds) / _STEP) if seconds > 0 else NOT_RUN


def seconds_of(number: int) -> float:
    """Return the duration in the middle of a class."""
    return math.exp(number * _STEP)


def count_calls(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Count ended calls; `Statement.prepare` of rows that are new in `tool_calls`."""
    _count_calls(fetch, rows)
    return rows


def count_ended_calls(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Count calls at their first end; `Statement.prepare` of rows that may replace others."""
    ends = {row[0]: row for row in rows}
    _count_calls(fetch, (row for row in ends.values() if not fetch(_HAS_ENDED, (row[0],))))
    return rows


def count_asked(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Count confirmations; `Statement.prepare` of new ones."""
    _count(fetch, ((row[11], row[6], row[5], ASKED, NOT_RUN) for row in rows))
    return rows


def count_runs(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Count the usage of runs at their first end; `Statement.prepare` of `FINISH_RUN`."""
    for row in {row[-1]: row for row in rows}.values():
        usage = _usage(row[3])
        if usage is not None:
            for started_at, agent_id, model in fetch(_UNENDED_RUN, (row[-1],)):
                _count_run(fetch, started_at, agent_id, model, usage)
    return rows


def count_ended_runs(fetch: Fetch, rows: list[Row]) -> list[Row]:
    """Count the usage of runs; `Statement.prepare` of `ADD_ENDED_RUN`."""
    for row in rows:
        usage = _usage(row[11])
        if usage is not None:
            _count_run(fetch, row[8], row[4], row[5], usage)
    return rows


def _count_calls(fetch: Fetch, rows: Iterable[Row]) -> None:
    _count(fetch, ((row[8], row[5], row[4], row[7], duration_class(row[16])) for row in rows))


def _count(fetch: Fetch, keys: Iterable[tuple[str, str, str | None, str, int]]) -> None:
    counted = Counter(
        (moment[:_DAY_CHARS], tool_name, agent_id or "", status, number)
        for moment, tool_name, agent_id, status, number in keys
    )
    for key, calls in counted.items():
        fetch(_COUNT_CALLS, (*key, calls))


def _usage(text: str) -> dict[str, float] | None:
    """Return the numbers in the usage of a run that asked a model.

    An ended process may have left anything; it must not hold up the commit.
    """
    try:
        stored = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(stored, dict):
        return None
    usage = {name: value for name, value in stored.items() if isinstance(value, int | float)}
    return usage if any(usage.get(name) for name in TOKENS) else None


def _count_run(
    fetch: Fetch, started_at: str, agent_id: str | None, model: str | None, usage: dict[str, float]
) -> None:
    tokens = [int(usage.get(name, 0)) for name in TOKENS]
    cost = usage.get("cost")
    priced = (0.0, sum(tokens)) if cost is None else (float(cost), 0)
    key = (started_at[:_DAY_CHARS], agent_id or "", model or "")
    fetch(_COUNT_RUN, (*key, 1, *tokens, *priced))
