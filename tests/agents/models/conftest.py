"""A scripted provider and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.models.protocol import ModelClient
from tests.agents.models.exchange import KEY, Waits
from tests.support.scripted_anthropic.server import ScriptedAnthropic


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic(api_key=KEY) as running:
        yield running


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def model(provider: ScriptedAnthropic, waits: Waits) -> AsyncIterator[ModelClient]:
    settings = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
    client = AnthropicModel(settings, sleep=waits)
    yield client
    await client.aclose()
