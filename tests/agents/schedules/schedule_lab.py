"""A service whose clock only moves when told to, a scripted model, and its schedules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.schedules.scheduler import Scheduler
from app.agents.schedules.service import ScheduleService
from app.bootstrap.service import ComposedService, open_service
from app.bootstrap.triggers import scheduler_of
from app.config.settings import Settings
from app.core.clock import ManualClock
from app.domain.schedules import Occurrence
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from tests.agents.models.exchange import KEY, Waits
from tests.execution.lab import PATIENCE_S, Lab, furnish
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)  # a Monday


@dataclass
class Desk:
    """A service, and somebody who calls tools."""

    service: ComposedService
    provider: ScriptedAnthropic
    clock: ManualClock
    lab: Lab

    @property
    def schedules(self) -> ScheduleService:
        return self.service.schedules

    async def call(self, name: str = "schedule_cron", /, **arguments: Any) -> CallOutcome:
        changes = arguments.pop("context", {})
        return (await self.lab.run(CallRequest("c1", name, arguments), **changes))[0]

    async def make(self, **arguments: Any) -> dict[str, Any]:
        """A schedule, by the tool."""
        made = await self.call(action="create", **{"prompt": "Look", **arguments})
        assert made.status == "success", made.result.error
        found: dict[str, Any] = made.result.data["schedule"]
        return found

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, then let the scheduler look once."""
        self.clock.advance(seconds)
        await self.scheduler().tick()

    def scheduler(self) -> Scheduler:
        service = self.service
        return scheduler_of(
            service.runtime, service.schedules, service.sessions, service.runs, service.tokens
        )

    async def history(self, schedule_id: str) -> list[Occurrence]:
        """What became of its times, the newest first, when their runs have begun and ended."""
        async with asyncio.timeout(PATIENCE_S):
            # The service has a scheduler of its own, which may be beginning one.
            while await self._is_beginning(schedule_id):
                pass
        for slot in await self.schedules.history(None, schedule_id, 100):
            run = self.service.runs.active(slot.session_id)
            if run is not None:
                async with asyncio.timeout(PATIENCE_S):
                    await run.done
        await self.service.db.flush()
        return list(await self.schedules.history(None, schedule_id, 100))

    async def _is_beginning(self, schedule_id: str) -> bool:
        found = await self.schedules.history(None, schedule_id, 100)
        return any(slot.status == "claimed" for slot in found)


@asynccontextmanager
async def open_desk(
    settings: Settings, *turns: Any, clock: ManualClock | None = None
) -> AsyncIterator[Desk]:
    """A desk whose model says `turns`, or that it has looked."""
    clock = clock or ManualClock(START)
    async with ScriptedAnthropic(*(turns or [Turn(text("Seen"))] * 20), api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
        model = AnthropicModel(configured, sleep=Waits())
        async with open_service(settings, model=model, clock=clock) as service:
            lab = await furnish(service.runtime, project="default")
            yield Desk(service, provider, clock, lab)
