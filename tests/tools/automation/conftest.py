"""A gate that may send requests to a server of this machine, because the operator lists it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap.installation import local_runtime
from app.config.triggers import TriggerSettings
from app.domain.web import WEB_ACCESS
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.knowledge.outbound_requests.model import OutboundRequest
from app.knowledge.outbound_requests.store import OutboundRequestChange
from app.operations.web.client import Web
from tests.execution.lab import Lab, furnish
from tests.knowledge.outbound_requests.recorder import Recorder, recording
from tests.support.service import settings_for


@dataclass
class House:
    """A gate, and a server elsewhere."""

    lab: Lab
    recorder: Recorder

    async def call(self, *, agent_id: str | None = None, **arguments: Any) -> CallOutcome:
        """A call that asks nobody."""
        request = CallRequest("c1", "remote_trigger", arguments)
        return (await self.lab.run(request, agent_id=agent_id))[0]

    async def approved(self, **arguments: Any) -> CallOutcome:
        """A call that a person is asked about, and approves."""
        self.lab.watcher.events.clear()
        calling = asyncio.create_task(self.call(**arguments))
        await self.lab.answer("approve_once")
        return await calling

    async def make(self, name: str = "deploy", **fields: Any) -> OutboundRequest:
        """A trigger that everybody may use unasked, unless `fields` say otherwise."""
        url = fields.pop("url", f"{self.recorder.url}/hooks/deploy")
        headers = fields.pop("headers", {})
        usual = {"name": name, "free": True, "agents": ("*",)}
        return await self.lab.runtime.triggers.store.create(
            OutboundRequestChange(usual | fields, url, headers), actor="boss"
        )


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    async with recording() as opened:
        yield opened


@pytest.fixture
async def house(tmp_path: Path, recorder: Recorder) -> AsyncIterator[House]:
    chosen = TriggerSettings(allow=[f"{recorder.url}/hooks/"])
    async with local_runtime(settings_for(tmp_path, triggers=chosen)) as runtime:
        web = Web(runtime.settings.web, runtime.clock)
        runtime.services.register(WEB_ACCESS, web)
        runtime.resolver.forget()
        yield House(await furnish(runtime, project="default"), recorder)
        await web.aclose()
