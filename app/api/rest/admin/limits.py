"""Limits and their current use."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.service import Service

router = routes_of("admin", below="/admin")

_COUNTER: dict[str, Any] = {
    "scope": "tool",
    "id": "bash",
    "calls_left": 28,
    "running": 2,
    "waiting": 0,
}
_PROBLEM = "The cost of agent 'coder' is limited, but model_prices has no price for 'm'"


class Counter(BaseModel):
    """A counter that calls count against."""

    model_config = example(**_COUNTER)

    scope: str = Field(description="`user`, `token`, `tool` or `agent`.")
    id: str
    calls_left: int | None = Field(description="Maximum burst; null without a rate limit.")
    running: int
    waiting: int = Field(description="Calls waiting for a free slot.")


class LimitUsage(BaseModel):
    """Limits with their current use and the number of refusals."""

    model_config = example(
        defaults={"calls_per_minute": 60},
        tools={"bash": {"calls_per_minute": 30, "concurrent": 2}},
        agents={"coder": {"cost_per_session": 1.5}},
        prices=["claude-sonnet-5-5"],
        counters=[_COUNTER],
        hits={"rate_limited": 3},
        problems=[_PROBLEM],
        problem_codes=["limit_no_price"],
    )

    defaults: dict[str, int | float] = Field(
        description="Defaults for every user; tokens can have their own."
    )
    tools: dict[str, dict[str, int | float]]
    agents: dict[str, dict[str, int | float]]
    prices: list[str] = Field(description="Models with a price.")
    counters: list[Counter]
    hits: dict[str, int] = Field(description="Refusals since the service started, by code.")
    problems: list[str] = Field(
        description="Limits that cannot be measured, so their calls are refused."
    )
    problem_codes: list[str] = Field(description="Stable codes for `problems`, in the same order.")


@router.get("/limits", summary="Get limits and their use", responses=problems())
async def get_limit_usage(service: ServiceDep, principal: Admin) -> LimitUsage:
    """Scope `admin`. The current use in this process."""
    uncounted = _unpriced(service)
    snapshot = service.governance.snapshot
    counters = [
        Counter(
            scope=usage.key.partition(":")[0],
            id=usage.key.partition(":")[2],
            calls_left=usage.calls_left,
            running=usage.running,
            waiting=usage.waiting,
        )
        for usage in service.limits.store.usage()
    ]
    return LimitUsage(
        defaults=service.limits.defaults.to_json(),
        tools={n: s.limits.to_json() for n, s in snapshot.tools.items() if s.limits},
        agents={
            agent_id: stored.profile.limits.to_json()
            for agent_id, stored in snapshot.agents.items()
            if stored.profile.limits
        },
        prices=sorted(service.settings.model_prices),
        counters=counters,
        hits={
            label: count
            for (name, label), count in sorted(service.metrics.counters.items())
            if name == "limit_hits"
        },
        problems=[problem.sentence for problem in uncounted],
        problem_codes=[problem.code for problem in uncounted],
    )


class _Uncounted(NamedTuple):
    """A limit that cannot be measured, as a code and as a sentence."""

    code: str
    sentence: str


def _unpriced(service: Service) -> list[_Uncounted]:
    """Return the cost limits, of agents and the service, whose model has no price."""
    settings = service.settings
    everybody = service.limits.defaults.cost_per_session
    asked = {"the service": (everybody, settings.model)}
    for agent_id, stored in service.governance.snapshot.agents.items():
        cost = stored.profile.limits.cost_per_session
        model = stored.profile.model or settings.model
        asked[f"agent {agent_id!r}"] = (everybody if cost is None else cost, model)
    return [
        _Uncounted(
            code="limit_no_price",
            sentence=f"The cost of {who} is limited, but model_prices has no price for {model!r}",
        )
        for who, (cost, model) in asked.items()
        if cost is not None and model not in settings.model_prices
    ]
