"""What models' streams hold, through a served session and its sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from tests.reports.samples import Row, samples
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Event,
    HttpError,
    Part,
    Turn,
    http_error,
    text,
    tool_use,
)
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


GOOD, BAD = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSK",
)
REFUSALS = [
    http_error(400, message="messages.0.content.1.image.source.base64: Could not process image"),
    http_error(404, message="No endpoints found that support image input"),
    http_error(422, message="unknown variant `image_url`, expected `text`"),
    http_error(500, message="image input is not supported - hint: provide the mmproj"),
]


def picture(data: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def seeing(refusal: HttpError) -> Callable[[Received], Turn | HttpError]:
    """A provider that takes one of two images."""
    return lambda received: refusal if BAD in str(received.body) else Turn(text("seen"))


async def say(running: Running, session_id: str, *content: dict[str, Any]) -> dict[str, Any]:
    """How the run of a message ended."""
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session_id)
        blocks = [{"type": "text", "text": "look"}, *content]
        ack = await chat.command(type="user_message", session_id=session_id, content=blocks)
        run_id = ack["result"]["run_id"]
        return await chat.until("run_finished", lambda event: event["run_id"] == run_id)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.status)
async def test_a_refused_image_is_not_sent_again_and_the_others_are(
    refusal: HttpError, tmp_path: Path
) -> None:
    async with ScriptedAnthropic(api_key=KEY, fallback=seeing(refusal)) as provider:
        settings = settings_of(tmp_path / "data", "anthropic", provider.base_url)
        settings = settings.model_copy(update={"model_retries": 0})
        async with serving(settings) as running:
            session_id = running.session().id
            assert (await say(running, session_id, picture(GOOD)))["status"] == "success"
            assert (await say(running, session_id, picture(BAD)))["status"] == "success"
            assert [BAD in str(asked.body) for asked in provider.requests] == [False, True, False]
            assert "the model's provider rejected it" in str(provider.requests[-1].body)
            assert (await say(running, session_id))["status"] == "success"
        async with serving(settings) as running:
            assert (await say(running, session_id))["status"] == "success"

        after = [str(asked.body) for asked in provider.requests[3:]]
        assert len(after) == 2
        assert all(GOOD in body and BAD not in body for body in after)


async def test_a_model_without_eyes_is_asked_again_without_any_image(tmp_path: Path) -> None:
    def blind(received: Received) -> Turn | HttpError:
        pictures = any(data in str(received.body) for data in (GOOD, BAD))
        return REFUSALS[1] if pictures else Turn(text("read"))

    async with ScriptedAnthropic(Turn(text("seen")), api_key=KEY, fallback=blind) as provider:
        settings = settings_of(tmp_path / "data", "anthropic", provider.base_url)
        async with serving(settings) as running:
            session_id = running.session().id
            await say(running, session_id, picture(GOOD))
            ended = [await say(running, session_id, picture(BAD)), await say(running, session_id)]

        assert [event["status"] for event in ended] == ["success", "success"]
        seen = [[data in str(a.body) for data in (GOOD, BAD)] for a in provider.requests[1:]]
        assert seen == [[True, True], [True, False], [False, False], [False, False]]


async def test_equal_calls_of_one_turn_are_said_to_share_one_execution(tmp_path: Path) -> None:
    calls = [
        tool_use("bash", {"command": "echo once >> n.txt; cat n.txt"}, id=f"c{n}") for n in "12"
    ]
    async with ScriptedAnthropic(Turn(*calls), Turn(text("done")), api_key=KEY) as provider:
        settings = settings_of(tmp_path / "data", "anthropic", provider.base_url)
        async with serving(settings) as running:
            ended, _ = await run_to_its_end(running, "append a line")

        assert ended["status"] == "success"
        first, second = (str(result) for result in provider.requests[1].tool_results().values())
        assert (first.count("once"), second.count("It ran once, and both")) == (1, 1)
