"""Token usage and cost of model requests, for operators.

Computed from the rows of runs; a sub-agent's run has its own row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import select
from sqlmodel import col

from app.agents.budget import tokens_of
from app.db.engine import Database
from app.db.tables import RunRow
from app.governance.identity.token_rules import DEFAULT_AGENT

Group = Literal["agent", "model", "session", "day"]
MAX_RUNS = 50_000
"""Maximum number of runs that one response sums up; the newest if there are more."""
_COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
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
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + int(usage.get(name, 0)))
        cost = usage.get("cost")
        if cost is None:
            self.unpriced_tokens += tokens_of(usage)
        else:
            self.cost += float(cost)


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
        if agent_id == DEFAULT_AGENT:
            query = query.where(col(RunRow.agent_id).is_(None) | (col(RunRow.agent_id) == agent_id))
        elif agent_id is not None:
            query = query.where(col(RunRow.agent_id) == agent_id)
        async with self._database.session() as session:
            rows = [tuple(row) for row in await (await session.connection()).execute(query)]
        is_cut = len(rows) > MAX_RUNS
        return await asyncio.to_thread(_summed, by, rows[:MAX_RUNS], is_cut=is_cut)


def _summed(by: Group, rows: Iterable[tuple[Any, ...]], *, is_cut: bool) -> UsageSums:
    groups: dict[str, Total] = {}
    total = Total()
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
        groups.setdefault(keys[by], Total()).add(usage)
        total.add(usage)
    ordered = sorted(groups.items(), key=lambda item: _weight(item[1]), reverse=True)
    return UsageSums(ordered, total, is_cut)


def _weight(total: Total) -> tuple[float, int]:
    return total.cost, total.input_tokens + total.output_tokens
