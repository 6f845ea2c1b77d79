"""A service whose delegation is played by doubles, and a model that answers by goal."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.agents.delegation.model import Standing
from app.agents.delegation.ports import Workers
from app.agents.delegation.service import DelegationService
from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.sessions import Session
from app.bootstrap.agents import agent_parts
from app.bootstrap.delegation import compose_delegation
from app.bootstrap.service import ComposedService, open_service
from app.config.settings import Settings
from app.domain.delegation import BatchReport, TaskSpec
from app.governance.limits import NOBODY, QuotaSubject
from app.toolkit.context import Progress, ToolContext
from tests.agents.delegation.doubles import Doubles
from tests.agents.models.exchange import KEY, Waits
from tests.agents.office import Office, settle
from tests.execution.lab import PATIENCE_S
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Answer, ScriptItem, Turn, text


class Goals:
    """A model's answers by the goal of the sub-agent that asks; one without any just answers."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Received]] = defaultdict(list)
        self._turns: dict[str, deque[ScriptItem]] = defaultdict(deque)

    def script(self, goal: str, *turns: ScriptItem) -> None:
        self._turns[goal].extend(turns)

    async def __call__(self, received: Received) -> Answer:
        goal = received.messages[0]["content"][0]["text"].split("\n")[0]
        self.asked[goal].append(received)
        if not self._turns[goal]:
            return Turn(text(f"answer to {goal}"))
        item = self._turns[goal].popleft()
        if not callable(item):
            return item
        answer = item(received)
        return answer if isinstance(answer, Answer) else await answer


@dataclass
class Department:
    """An office with delegation."""

    office: Office
    goals: Goals
    doubles: Workers
    delegation: DelegationService
    progress: list[Progress] = field(default_factory=list)
    payers: dict[str, tuple[QuotaSubject, bool]] = field(default_factory=dict)

    @property
    def session(self) -> Session:
        return self.office.session

    def context(self, **changes: Any) -> ToolContext:
        """The context of a delegating call of the session's agent."""

        async def report(progress: Progress) -> None:
            self.progress.append(progress)

        wanted = {
            "tool_call_id": "c0",
            "operation_id": "op_0",
            "session_id": self.session.id,
            "run_id": "run_parent",
            "agent_id": self.session.agent_id,
            "user_id": "ann",
            "project_id": "default",
            "services": self.office.runtime.services,
            "model": {"model": "m-1", "max_tokens": 1234, "temperature": None},
            "report": report,
            **changes,
        }
        return ToolContext(**wanted)

    async def delegate(self, *specs: TaskSpec, **options: Any) -> BatchReport:
        wanted = {"kind": "parallel", **options}
        context = wanted.pop("context", None) or self.context()
        async with asyncio.timeout(PATIENCE_S):
            return await self.delegation.start(specs, context, **wanted)


def spec(goal: str, **fields: Any) -> TaskSpec:
    return TaskSpec(**{"goal": goal, "label": goal, **fields})


@asynccontextmanager
async def open_department(
    settings: Settings, doubles: Workers | None = None, **options: Any
) -> AsyncIterator[Department]:
    goals = Goals()
    doubles = doubles or Doubles()
    async with ScriptedAnthropic(fallback=goals, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url, max_retries=0)
        model = AnthropicModel(configured, sleep=Waits())
        async with open_service(settings, model=model) as service:
            office = settle(service, provider, **options)
            yield await _furnished(service, office, goals, doubles, model)


async def _furnished(
    service: ComposedService, office: Office, goals: Goals, doubles: Workers, model: AnthropicModel
) -> Department:
    payers: dict[str, tuple[QuotaSubject, bool]] = {}
    runtime = service.runtime
    delegation, _ = compose_delegation(
        *(runtime, agent_parts(runtime), service.sessions, model, doubles),
        standing_of=lambda session_id, _: Standing(
            *payers.get(session_id, (NOBODY, True)), outlives=False
        ),
    )
    return Department(office, goals, doubles, delegation, payers=payers)
