"""Statistics of frequent confirmations."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.decision_replay import fatigue
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.core.clock import isoformat

router = routes_of("admin", below="/admin")

_TIMES: dict[str, Any] = {"median_s": 8.4, "p90_s": 61.0, "fast_share": 0.12}


class AnswerTimesView(BaseModel):
    """Time until people answered."""

    model_config = example(**_TIMES)

    median_s: float | None = Field(description="In seconds; null without answers.")
    p90_s: float | None
    fast_share: float | None = Field(
        description="Share of approvals within 2 seconds, which can hardly have been read."
    )


class CodeView(BaseModel):
    """Answers to confirmations with one reason."""

    model_config = example(
        code="delete",
        asked=24,
        approved=24,
        declined=0,
        unanswered=0,
        approve_rate=1.0,
        proposals=[{"tool": "bash", "match": {"argv": ["rm", "out"]}, "decision": "allow"}],
        prompts_per_100_calls=2.0,
        times=_TIMES,
    )

    code: str = Field(description="A finding, a rule's ID or `requires_confirmation`.")
    asked: int
    approved: int
    declined: int
    unanswered: int
    approve_rate: float
    proposals: list[dict[str, Any]] = Field(
        description="Suggested narrow rules for frequently approved calls; none is created "
        "automatically."
    )
    prompts_per_100_calls: float
    times: AnswerTimesView


class AgentFigures(BaseModel):
    """Questions about the calls of one agent."""

    model_config = example(
        agent_id="coder",
        calls=400,
        prompts=14,
        prompts_per_100_calls=3.5,
        times=_TIMES,
        over_target=True,
    )

    agent_id: str = Field(description="`default` for calls without an agent.")
    calls: int
    prompts: int
    prompts_per_100_calls: float
    times: AnswerTimesView
    over_target: bool = Field(description="Whether people are asked more often than the target.")


class FatigueView(BaseModel):
    """Frequency of confirmations, by agent and by reason, and how long the answers take."""

    model_config = example(
        calls=1200,
        prompts=31,
        prompts_per_100_calls=2.58,
        target=3.0,
        over_target=False,
        times=_TIMES,
        codes=[],
        agents=[],
    )

    calls: int
    prompts: int
    prompts_per_100_calls: float
    target: float = Field(
        description="Target for prompts per 100 calls: `proposals.prompts_per_100_calls`."
    )
    over_target: bool
    times: AnswerTimesView
    codes: list[CodeView]
    agents: list[AgentFigures] = Field(description="Those with most questions first.")


@router.get("/rules/fatigue", summary="Get approval frequency", responses=problems())
async def rule_fatigue(
    service: ServiceDep,
    principal: Admin,
    days: Annotated[int, Query(ge=1, le=365, description="Number of days to analyse.")] = 30,
) -> FatigueView:
    """Scope `admin`. Suggests allow rules for reasons approved over 95 % of at least 20 times.

    `/admin/rule-proposals` lists narrow rules with a proof.
    """
    since = isoformat(service.clock.now() - timedelta(days=days))
    found = await fatigue(service.database, since)
    target = service.settings.proposals.prompts_per_100_calls
    known = asdict(found) | {
        "codes": [_code(figures) for figures in found.codes],
        "agents": [
            asdict(agent) | {"over_target": agent.prompts_per_100_calls > target}
            for agent in found.agents
        ],
        "target": target,
        "over_target": found.prompts_per_100_calls > target,
    }
    return FatigueView.model_validate(known)


def _code(figures: Any) -> dict[str, Any]:
    return {**asdict(figures), "proposals": list(figures.proposals)}
