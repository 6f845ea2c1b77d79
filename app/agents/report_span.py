"""Period of a report: its full days, which have totals, and the parts of days at its ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import func

from app.governance.identity.token_rules import DEFAULT_AGENT

_DAY_CHARS = 10
_LAST_DAY = date.max.isoformat()


@dataclass(frozen=True, slots=True)
class Span:
    """Period of a report.

    Attributes:
        first, end: full days `first <= day < end`, as `2026-01-31`; None if unlimited.
        parts: periods `since <= moment < until` within one day, as RFC 3339 in UTC.
    """

    first: str | None
    end: str | None
    parts: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, since: str | None, until: str | None) -> Span:
        """Return the span between two moments, as RFC 3339 in UTC; `until` is exclusive."""
        first = None if since is None else _first_day(since)
        end = None if until is None else until[:_DAY_CHARS]
        if since is not None and until is not None and (first or "") > (end or ""):
            # Both are within one day.
            return cls(first, end, ((since, until),) if since < until else ())
        parts = []
        if since is not None and first is not None and since < first:
            parts.append((since, first))
        if until is not None and end is not None and not _is_start(until):
            parts.append((end, until))
        return cls(first, end, tuple(parts))

    def narrow(self, query: Any, day: Any) -> Any:
        """Return a query of totals with the condition for the full days."""
        if self.first is not None:
            query = query.where(day >= self.first)
        if self.end is not None:
            query = query.where(day < self.end)
        return query


def of_agent(query: Any, column: Any, agent_id: str | None) -> Any:
    """Return a query of rows or totals of one agent; None does not restrict it.

    Rows without an agent have null, totals have an empty text; both mean the default agent.
    """
    if agent_id is None:
        return query
    wanted = ("", DEFAULT_AGENT) if agent_id == DEFAULT_AGENT else (agent_id,)
    return query.where(func.coalesce(column, "").in_(wanted))


def _first_day(since: str) -> str:
    """Return the first day that begins at or after a moment."""
    day = since[:_DAY_CHARS]
    if _is_start(since) or day == _LAST_DAY:
        return day
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _is_start(moment: str) -> bool:
    """Return whether a moment is the start of its day."""
    return not moment[_DAY_CHARS:].strip("T0:.Z")
