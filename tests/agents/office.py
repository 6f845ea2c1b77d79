"""A service with a scripted provider behind the real SDK, one open session, and eyes on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.agents.content import user_content
from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.sessions import Session
from app.bootstrap.container import Runtime
from app.bootstrap.service import ComposedService, open_service
from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.toolkit.tool import Tool
from tests.agents.models.exchange import KEY, Waits
from tests.execution.lab import PATIENCE_S, Event, Watcher
from tests.support.scripted_anthropic.server import ScriptedAnthropic


@dataclass
class Office:
    """A service and one session of it."""

    service: ComposedService
    provider: ScriptedAnthropic
    session: Session
    watcher: Watcher

    @property
    def runtime(self) -> Runtime:
        return self.service.runtime

    def add(self, *tools: Tool) -> None:
        for tool in tools:
            self.runtime.registry.register(tool)

    async def say(self, text: str = "hello", **options: Any) -> str:
        """Send a message; the id of its run."""
        run_id, _ = await self.service.runs.send_message(
            self.session, user_content(text), **options
        )
        return run_id

    async def ended(self, run_id: str) -> Event:
        return await self.watcher.until("run_finished", run_id=run_id)

    async def ask(self, text: str = "hello", **options: Any) -> Event:
        """Send a message and wait for the end of its run."""
        return await self.ended(await self.say(text, **options))

    async def call(self, *requests: CallRequest, **options: Any) -> Event:
        """Make direct calls and wait for the end of their run."""
        run = await self.service.runs.call_tools(
            self.session, requests, caller="websocket", **options
        )
        return await self.ended(run.id)

    async def cancel(self, run_id: str) -> bool:
        return await self.service.runs.cancel(self.session.id, run_id)

    async def seen_by_model(self, number: int) -> list[dict[str, Any]]:
        """The messages of the provider's request `number`, from 1."""
        async with asyncio.timeout(PATIENCE_S):
            return (await self.provider.received(number)).messages

    def watch(self, session: Session) -> Watcher:
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        return watcher


@asynccontextmanager
async def open_office(settings: Settings, *turns: Any, **options: Any) -> AsyncIterator[Office]:
    """An office whose model answers with `turns`."""
    async with ScriptedAnthropic(*turns, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
        model = AnthropicModel(configured, sleep=Waits())
        async with open_service(settings, model=model) as service:
            yield settle(service, provider, **options)


def settle(service: ComposedService, provider: ScriptedAnthropic, **options: Any) -> Office:
    wanted = {"user_id": "ann", "project_id": "default", **options}
    session = service.sessions.create(**wanted)
    office = Office(service, provider, session, Watcher())
    session.log.subscribers.add(office.watcher)
    return office
