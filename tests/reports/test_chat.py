"""What models' streams hold, through a served session and its sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.core.settings import Settings
from tests.reports.samples import Row, samples
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Event, Part, Turn, text, tool_use
from tests.support.scripted_openai.server import ScriptedOpenAI
from tests.support.scripted_openai.wire import UNSAID
from tests.support.service import Chat, Running, serving, settings_for

KEY = "sk-test-0123456789abcdef"


def turn_of(said: Row, provider: str) -> Turn:
    """A turn as a row describes it; `stop: null` is a turn whose end has no reason."""
    parts: list[Part] = [text(said["text"])]
    tools = [said["tool"], *said.get("more", ())] if "tool" in said else []
    for tool in tools:
        cut = "raw" in tool
        parts.append(tool_use(tool["name"], tool.get("input"), raw=tool.get("raw"), closed=not cut))
    if "stop" not in said:
        return Turn(*parts)
    if said["stop"] is not None:
        return Turn(*parts, stop=said["stop"])
    if provider == "openai":
        return Turn(*parts, stop=UNSAID)
    # The last event but one says nothing then.
    parts.append(Event("message_delta", {"type": "message_delta", "delta": {"stop_reason": None}}))
    return Turn(*parts, Event("message_stop", {"type": "message_stop"}), stop="")


def settings_of(folder: Path, provider: str, base_url: str) -> Settings:
    if provider == "openai":
        configured = {"openai_api_key": KEY, "openai_base_url": base_url, "model": "openai:gpt-x"}
    else:
        configured = {"anthropic_api_key": KEY, "anthropic_base_url": base_url}
    folder.mkdir()
    return settings_for(folder, **configured)


async def run_to_its_end(running: Running, words: str) -> tuple[dict[str, Any], Chat]:
    """Send a message in a new session; how its run ended, and what was seen."""
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        sent = await chat.command(type="user_message", session_id=session.id, content=words)
        assert sent["type"] == "ack", sent
        return await chat.until("run_finished"), chat


@pytest.mark.parametrize("row", samples("chat_call_with_another_stop_reason"))
async def test_whole_calls_run_whatever_reason_ends_the_turn(row: Row, tmp_path: Path) -> None:
    server = ScriptedOpenAI if row["provider"] == "openai" else ScriptedAnthropic
    turns = [turn_of(said, row["provider"]) for said in row["turns"]]
    async with server(*turns, api_key=KEY) as provider:
        settings = settings_of(tmp_path / "data", row["provider"], provider.base_url)
        async with serving(settings) as running:
            ended, chat = await run_to_its_end(running, "look")

        assert ended["status"] == row["right"]["run_status"], ended
        ran = row["right"].get("tool_ran")
        if ran is None:
            assert chat.events("tool_call_started") == []
        else:
            assert ran in str(provider.requests[1].tool_results())
            assert ended["stop_reason"] == "end_turn"
