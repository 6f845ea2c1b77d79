"""Statistics of tool calls: counts, outcomes, durations and confirmations.

Computed from the rows of calls and confirmations, so they include restarts and all processes.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import select
from sqlmodel import col

from app.db.engine import Database
from app.db.tables import ConfirmationRow, ToolCallRow
from app.governance.identity.token_rules import DEFAULT_AGENT

CallGroup = Literal["day", "tool", "agent"]
MAX_CALLS = 50_000
"""Maximum calls and confirmations counted for one response; the newest if there are more."""
_DAY_CHARS = 10
_Rows = list[tuple[Any, ...]]


@dataclass(slots=True)
class CallCount:
    """A group of calls.

    Attributes:
        statuses: number of calls by end status.
        asked: confirmations of such calls.
        seconds: duration of each call that ran.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return self.statuses.total()

    @property
    def asked_per_100(self) -> float | None:
        """Return confirmations per 100 calls; None without calls."""
        return 100 * self.asked / self.calls if self.calls else None

    def within_ms(self, share: float) -> float | None:
        """Return the percentile `share` of the durations in milliseconds, by nearest rank."""
        if not self.seconds:
            return None
        ordered = sorted(self.seconds)
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)] * 1000, 3)

    def add(self, status: str, seconds: float) -> None:
        """Add one call; the duration of a call that did not run is ignored."""
        self.statuses[status] += 1
        if seconds > 0:
            self.seconds.append(seconds)


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Groups by name, and their total.

    Attributes:
        is_cut: there were more than `MAX_CALLS` calls or confirmations.
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
        moment, asked_at = col(ToolCallRow.started_at), col(ConfirmationRow.created_at)
        calls = _narrowed(
            select(
                *(moment, col(ToolCallRow.tool_name), col(ToolCallRow.agent_id)),
                *(col(ToolCallRow.status), col(ToolCallRow.execution_time)),
            ),
            *(moment, col(ToolCallRow.agent_id)),
            *(since, until, agent_id),
        )
        questions = _narrowed(
            select(asked_at, col(ConfirmationRow.tool_name), col(ConfirmationRow.agent_id)),
            *(asked_at, col(ConfirmationRow.agent_id)),
            *(since, until, agent_id),
        )
        async with self._database.session() as session:
            connection = await session.connection()
            made: _Rows = [tuple(row) for row in await connection.execute(calls)]
            asked: _Rows = [tuple(row) for row in await connection.execute(questions)]
        return await asyncio.to_thread(
            _counted,
            by,
            made[:MAX_CALLS],
            asked[:MAX_CALLS],
            is_cut=max(len(made), len(asked)) > MAX_CALLS,
        )


def _narrowed(
    query: Any,
    moment: Any,
    agent: Any,
    since: str | None,
    until: str | None,
    agent_id: str | None,
) -> Any:
    if since is not None:
        query = query.where(moment >= since)
    if until is not None:
        query = query.where(moment < until)
    if agent_id == DEFAULT_AGENT:
        query = query.where(agent.is_(None) | (agent == agent_id))
    elif agent_id is not None:
        query = query.where(agent == agent_id)
    return query.order_by(moment.desc()).limit(MAX_CALLS + 1)


def _counted(
    by: CallGroup, calls: Iterable[Any], questions: Iterable[Any], *, is_cut: bool
) -> CallCounts:
    groups: dict[str, CallCount] = {}
    total = CallCount()
    for moment, tool_name, agent_id, status, seconds in calls:
        key = _key(by, moment, tool_name, agent_id)
        for count in (groups.setdefault(key, CallCount()), total):
            count.add(status, seconds)
    for moment, tool_name, agent_id in questions:
        key = _key(by, moment, tool_name, agent_id)
        for count in (groups.setdefault(key, CallCount()), total):
            count.asked += 1
    return CallCounts(dict(sorted(groups.items())), total, is_cut)


def _key(by: CallGroup, moment: str, tool_name: str, agent_id: str | None) -> str:
    return {"day": moment[:_DAY_CHARS], "tool": tool_name, "agent": agent_id or DEFAULT_AGENT}[by]
