"""Tokens and cost of model requests, and counts and durations of tool calls."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.call_statistics import CallCount, CallFigures, CallGroup
from app.agents.usage import Group, Total, UsageReader
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.audit import Moment
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.governance.audit.filters import moment_of

router = routes_of("admin", below="/admin")

MAX_GROUPS = 1000
_TOTAL: dict[str, Any] = {
    "runs": 12,
    "input_tokens": 48_000,
    "output_tokens": 6_100,
    "cache_read_tokens": 210_000,
    "cache_creation_tokens": 31_000,
    "cost": 0.41,
    "unpriced_tokens": 0,
}

_CALLS: dict[str, Any] = {
    "calls": 120,
    "statuses": {"success": 112, "error": 5, "declined": 3},
    "ran": 117,
    "p50_ms": 41.5,
    "p95_ms": 2100.0,
    "asked": 6,
    "asked_per_100_calls": 5.0,
}


class UsageTotal(BaseModel):
    """Usage of runs, with sub-agents counted as runs."""

    model_config = example(**_TOTAL)

    runs: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    cost: float = Field(description="US dollars of the runs whose models all have a price.")
    unpriced_tokens: int = Field(description="Tokens of the other runs; see `model_prices`.")

    @classmethod
    def of(cls, total: Total) -> Self:
        return cls(**asdict(total))


class UsageGroup(UsageTotal):
    """Usage of one agent, model, session or day."""

    model_config = example(key="writer", **_TOTAL)

    key: str = Field(description="The agent (`default` for none), model, session, or day (UTC).")


class UsageReport(BaseModel):
    """Usage by group, highest cost first."""

    model_config = example(
        by="agent", groups=[{"key": "writer", **_TOTAL}], total=_TOTAL, is_cut=False
    )

    by: Group
    groups: list[UsageGroup]
    total: UsageTotal
    is_cut: bool = Field(
        description="True if there are more groups, or runs in a part of a day or by session, than "
        "one response holds; request full days, or a shorter period."
    )


@router.get("/usage", summary="Get tokens and cost", responses=problems())
async def get_usage(
    service: ServiceDep,
    principal: Admin,
    by: Annotated[Group, Query(description="How to group the runs.")] = "agent",
    since: Moment = None,
    until: Moment = None,
    agent_id: Annotated[
        str | None, Query(max_length=128, description="Only this agent; `default` for none.")
    ] = None,
    session_id: Annotated[
        str | None, Query(max_length=128, description="Only this session.")
    ] = None,
) -> UsageReport:
    """Scope `admin`. Covers ended runs that sent a model request.

    Raises:
        InvalidInput: `since` or `until` is not a valid time.
    """
    sums = await UsageReader(service.database).sums(
        by,
        since=moment_of(since, "since") if since else None,
        until=moment_of(until, "until") if until else None,
        agent_id=agent_id,
        session_id=session_id,
    )
    return UsageReport(
        by=by,
        groups=[UsageGroup(key=key, **asdict(total)) for key, total in sums.groups[:MAX_GROUPS]],
        total=UsageTotal.of(sums.total),
        is_cut=sums.is_cut or len(sums.groups) > MAX_GROUPS,
    )


class CallTotal(BaseModel):
    """Calls of tools, and the number of their confirmations."""

    model_config = example(**_CALLS)

    calls: int
    statuses: dict[str, int] = Field(description="Number of calls by outcome.")
    ran: int = Field(description="Calls that ran; the durations exclude waiting.")
    p50_ms: float | None = Field(description="Median duration, within 1 %. Null if none ran.")
    p95_ms: float | None = Field(description="95th percentile of the duration, within 1 %.")
    asked: int
    asked_per_100_calls: float | None

    @classmethod
    def of(cls, count: CallCount) -> Self:
        return cls(**_figures(count))


class CallTotals(CallTotal):
    """Calls of one day, tool or agent."""

    model_config = example(key="bash", **_CALLS)

    key: str = Field(description="The day (UTC), tool, or agent (`default` for none).")


class CallReport(BaseModel):
    """Calls by group, in the order of the keys."""

    model_config = example(
        by="tool", groups=[{"key": "bash", **_CALLS}], total=_CALLS, is_cut=False
    )

    by: CallGroup
    groups: list[CallTotals]
    total: CallTotal
    is_cut: bool = Field(
        description="True if there are more groups, or calls in a part of a day, than one response "
        "holds; request full days, or a shorter period."
    )


@router.get("/usage/calls", summary="Get calls, durations and confirmations", responses=problems())
async def get_call_figures(
    service: ServiceDep,
    principal: Admin,
    by: Annotated[CallGroup, Query(description="How to group the calls.")] = "day",
    since: Moment = None,
    until: Moment = None,
    agent_id: Annotated[
        str | None, Query(max_length=128, description="Only this agent; `default` for none.")
    ] = None,
) -> CallReport:
    """Scope `admin`. Covers calls of all users, including those of sub-agents.

    Raises:
        InvalidInput: `since` or `until` is not a valid time.
    """
    found = await CallFigures(service.database).counts(
        by,
        since=moment_of(since, "since") if since else None,
        until=moment_of(until, "until") if until else None,
        agent_id=agent_id,
    )
    groups = list(found.groups.items())
    return CallReport(
        by=by,
        groups=[CallTotals(key=key, **_figures(count)) for key, count in groups[-MAX_GROUPS:]],
        total=CallTotal.of(found.total),
        is_cut=found.is_cut or len(groups) > MAX_GROUPS,
    )


def _figures(count: CallCount) -> dict[str, Any]:
    share = count.asked_per_100
    return {
        "calls": count.calls,
        "statuses": dict(sorted(count.statuses.items())),
        "ran": count.ran,
        "p50_ms": count.within_ms(0.5),
        "p95_ms": count.within_ms(0.95),
        "asked": count.asked,
        "asked_per_100_calls": None if share is None else round(share, 2),
    }
