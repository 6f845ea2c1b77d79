"""Statistics of tool calls: counts, outcomes, durations and confirmations.

Full days come from the totals by day, parts of a day from the rows of calls and confirmations; both
include restarts and all processes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import func, literal, select
from sqlmodel import col

from app.agents.report_span import Span, of_agent
from app.db.engine import Database
from app.db.tables import CallTotalRow, ConfirmationRow, ToolCallRow
from app.db.totals import ASKED, NOT_RUN, duration_class, seconds_of
from app.governance.identity.token_rules import DEFAULT_AGENT

CallGroup = Literal["day", "tool", "agent"]
MAX_CALLS = 50_000
"""Maximum calls or confirmations counted in a part of a day; the newest if there are more."""
_DAY_CHARS = 10
_Rows = list[tuple[Any, ...]]


@dataclass(slots=True)
class CallCount:
    """A group of calls.

    Attributes:
        statuses: number of calls by end status.
        asked: confirmations of such calls.
        durations: number of calls that ran by class of durations, as in `app.db.totals`.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    durations: Counter[int] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        return self.statuses.total()

    @property
    def asked_per_100(self) -> float | None:
        """Return confirmations per 100 calls; None without calls."""
        return 100 * self.asked / self.calls if self.calls else None

    @property
    def ran(self) -> int:
        return self.durations.total()

    def within_ms(self, share: float) -> float | None:
        """Return the percentile `share` of the durations in milliseconds, by nearest rank.

        It is known within 1 %.
        """
        rank = max(1, math.ceil(share * self.ran))
        for number, calls in sorted(self.durations.items()):
            rank -= calls
            if rank <= 0:
                return round(seconds_of(number) * 1000, 3)
        return None

    def add(self, status: str, duration: int, calls: int = 1) -> None:
        """Add calls, or confirmations of calls, of one class of durations."""
        if status == ASKED:
            self.asked += calls
            return
        self.statuses[status] += calls
        if duration != NOT_RUN:
            self.durations[duration] += calls


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Groups by name, and their total.

    Attributes:
        is_cut: a part of a day had more than `MAX_CALLS` calls or confirmations.
    """

    groups: dict[str, CallCount]
    total: CallCount
    is_cut: bool = False


class CallFigures:
    """Read-only counts of stored calls."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(
        self,
        by: CallGroup,
        *,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
    ) -> CallCounts:
        """Count the calls started in a period, and the confirmations requested in it.

        Args:
            since, until: RFC 3339 in UTC, as in rows; `until` is exclusive.
            agent_id: count only this agent; `default` for calls without an agent.
        """
        span = Span.of(since, until)
        groups: dict[str, CallCount] = {}
        total = CallCount()
        is_cut = False
        async with self._database.session() as session:
            connection = await session.connection()
            days = [tuple(row) for row in await connection.execute(_days(by, span, agent_id))]
            parts: _Rows = []
            for start, end in span.parts:
                for query in _parts(start, end, agent_id):
                    rows = [tuple(row) for row in await connection.execute(query)]
                    is_cut = is_cut or len(rows) > MAX_CALLS
                    parts += rows[:MAX_CALLS]
        for key, status, duration, calls in days:
            for count in (groups.setdefault(key or DEFAULT_AGENT, CallCount()), total):
                count.add(status, duration, calls)
        for moment, tool_name, agent, status, seconds in parts:
            key = _key(by, moment, tool_name, agent)
            for count in (groups.setdefault(key, CallCount()), total):
                count.add(status, duration_class(seconds))
        return CallCounts(dict(sorted(groups.items())), total, is_cut)


def _days(by: CallGroup, span: Span, agent_id: str | None) -> Any:
    """Return the query of the totals of full days: key, status, class of durations, calls."""
    key = {
        "day": col(CallTotalRow.day),
        "tool": col(CallTotalRow.tool_name),
        "agent": col(CallTotalRow.agent_id),
    }[by]
    columns = (key, col(CallTotalRow.status), col(CallTotalRow.duration_class))
    query = select(*columns, func.sum(CallTotalRow.calls)).group_by(*columns)
    query = span.narrow(query, col(CallTotalRow.day))
    return of_agent(query, col(CallTotalRow.agent_id), agent_id)


def _parts(since: str, until: str, agent_id: str | None) -> tuple[Any, Any]:
    """Return the queries of the calls and confirmations of a part of a day."""
    moment, asked_at = col(ToolCallRow.started_at), col(ConfirmationRow.created_at)
    calls = select(
        *(moment, col(ToolCallRow.tool_name), col(ToolCallRow.agent_id)),
        *(col(ToolCallRow.status), col(ToolCallRow.execution_time)),
    ).where(col(ToolCallRow.status) != "started")
    questions = select(
        *(asked_at, col(ConfirmationRow.tool_name), col(ConfirmationRow.agent_id)),
        *(literal(ASKED), literal(0.0)),
    )
    return (
        _narrowed(calls, moment, col(ToolCallRow.agent_id), since, until, agent_id),
        _narrowed(questions, asked_at, col(ConfirmationRow.agent_id), since, until, agent_id),
    )


def _narrowed(
    query: Any, moment: Any, agent: Any, since: str, until: str, agent_id: str | None
) -> Any:
    query = of_agent(query.where(moment >= since, moment < until), agent, agent_id)
    return query.order_by(moment.desc()).limit(MAX_CALLS + 1)


def _key(by: CallGroup, moment: str, tool_name: str, agent_id: str | None) -> str:
    return {"day": moment[:_DAY_CHARS], "tool": tool_name, "agent": agent_id or DEFAULT_AGENT}[by]
