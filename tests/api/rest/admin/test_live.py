"""An operator's change over REST counts in a run that is under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.rest.client import new_session
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use
from tests.support.service import settings_for


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic() as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, provider: ScriptedAnthropic) -> Settings:
    return settings_for(
        tmp_path, anthropic_api_key="test", anthropic_base_url=provider.base_url, model_retries=0
    )


@pytest.mark.requirement("GOV-15")
async def test_a_tool_switched_off_meanwhile_is_refused_and_no_longer_offered(
    client: httpx2.AsyncClient, provider: ScriptedAnthropic
):
    gate = Gate()
    provider.script(
        Turn(text("I look.", gate), tool_use("calculator", {"expression": "1"}, id="t1")),
        Turn(text("It is off.")),
    )
    session = await new_session(client)
    await client.post(f"/sessions/{session}/messages", json={"content": "1?"})
    await gate.reached.wait()
    await client.patch("/admin/tools/calculator", json={"enabled": False})
    gate.open()
    second = await provider.received(2)
    assert "calculator" in provider.requests[0].tool_names
    assert "calculator" not in second.tool_names
    reported = second.tool_results()["t1"]["content"][0]["text"]
    assert "Tool 'calculator' is disabled by an administrator" in reported
