"""Token usage and cost of model requests, for operators.

Full days come from the totals by day, parts of a day and sessions from the rows of runs; a
sub-agent's run has its own row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

import orjson
from sqlalchemy import func, select
from sqlmodel import col

from app.agents.budget import tokens_of
from app.agents.report_span import Span, of_agent
from app.db.engine import Database
from app.db.tables import RunRow, RunTotalRow
from app.db.totals import TOKENS
from app.governance.identity.token_rules import DEFAULT_AGENT

Group = Literal["agent", "model", "session", "day"]
MAX_RUNS = 50_000
"""Maximum number of runs of a part of a day, or by session; the newest if there are more."""
_NO_MODEL = ""
_DAY_CHARS = 10


@dataclass(slots=True)
class Total:
    """Usage of a group of runs.

    Attributes:
        cost: dollars of the runs with a price.
        unpriced_tokens: tokens of the runs without one.
    """

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost: float = 0.0
    unpriced_tokens: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        """Add one run."""
        self.runs += 1
        for name in TOKENS:
            setattr(self, name, getattr(self, name) + int(usage.get(name, 0)))
        cost = usage.get("cost")
        if cost is None:
            self.unpriced_tokens += tokens_of(usage)
        else:
            self.cost += float(cost)

    def merge(self, other: Total) -> None:
        """Add the runs of another group."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(frozen=True, slots=True)
class UsageSums:
    """Totals by group, largest first.

    Attributes:
        is_cut: there were more than `MAX_RUNS`.
    """

    groups: list[tuple[str, Total]]
    total: Total
    is_cut: bool = False


class UsageReader:
    """Read-only sums of stored usage."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sums(
        self,
        by: Group,
        *,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> UsageSums:
        """Return the totals of model runs that started in a period.

        Args:
            since, until: RFC 3339 in UTC, as in rows; `until` is exclusive.
            agent_id: count only this agent; `default` for runs without an agent.
        """
        span = None if by == "session" or session_id is not None else Span.of(since, until)
        parts = ((since, until),) if span is None else span.parts
        sums = _Sums(by)
        is_cut = False
        async with self._database.session() as session:
            connection = await session.connection()
            if span is not None:
                days = await connection.execute(_days(by, span, agent_id))
                sums.add_days([tuple(row) for row in days])
            for start, end in parts:
                found = await connection.execute(_rows(start, end, agent_id, session_id))
                rows = [tuple(row) for row in found]
                is_cut = is_cut or len(rows) > MAX_RUNS
                await asyncio.to_thread(sums.add_runs, rows[:MAX_RUNS])
        return sums.report(is_cut=is_cut)


def _days(by: Group, span: Span, agent_id: str | None) -> Any:
    """Return the query of the totals of full days: key, then the fields of `Total`."""
    key = {
        "agent": col(RunTotalRow.agent_id),
        "model": col(RunTotalRow.model),
        "day": col(RunTotalRow.day),
    }[by]
    sums = [func.sum(getattr(RunTotalRow, field.name)) for field in fields(Total)]
    query = span.narrow(select(key, *sums).group_by(key), col(RunTotalRow.day))
    return of_agent(query, col(RunTotalRow.agent_id), agent_id)


def _rows(
    since: str | None, until: str | None, agent_id: str | None, session_id: str | None
) -> Any:
    """Return the query of runs, newest first."""
    query = (
        select(
            *(col(RunRow.agent_id), col(RunRow.model), col(RunRow.session_id)),
            *(col(RunRow.started_at), col(RunRow.usage)),
        )
        .where(col(RunRow.usage) != "{}")
        .order_by(col(RunRow.started_at).desc())
        .limit(MAX_RUNS + 1)
    )
    if since is not None:
        query = query.where(col(RunRow.started_at) >= since)
    if until is not None:
        query = query.where(col(RunRow.started_at) < until)
    if session_id is not None:
        query = query.where(col(RunRow.session_id) == session_id)
    return of_agent(query, col(RunRow.agent_id), agent_id)


class _Sums:
    """Sums of a report while it is read."""

    def __init__(self, by: Group) -> None:
        self._by = by
        self._groups: dict[str, Total] = {}
        self._total = Total()

    def add_days(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add totals of full days."""
        for key, *numbers in rows:
            name = key or (DEFAULT_AGENT if self._by == "agent" else _NO_MODEL)
            for total in (self._groups.setdefault(name, Total()), self._total):
                total.merge(Total(*numbers))

    def add_runs(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows of runs."""
        for agent_id, model, session_id, started_at, stored in rows:
            usage = orjson.loads(stored)
            if not tokens_of(usage):
                continue
            keys = {
                "agent": agent_id or DEFAULT_AGENT,
                "model": model or _NO_MODEL,
                "session": session_id,
                "day": started_at[:_DAY_CHARS],
            }
            for total in (self._groups.setdefault(keys[self._by], Total()), self._total):
                total.add(usage)

    def report(self, *, is_cut: bool) -> UsageSums:
        """Return the sums, largest first."""
        ordered = sorted(self._groups.items(), key=lambda item: _weight(item[1]), reverse=True)
        return UsageSums(ordered, self._total, is_cut)


def _weight(total: Total) -> tuple[float, int]:
    return total.cost, total.input_tokens + total.output_tokens
