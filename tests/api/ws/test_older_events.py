"""The events of two predecessors, served to clients that know no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.events.union import server_message
from tests.api.rest.test_model_settings import open_place
from tests.support.scripted_anthropic.turns import Turn, tool_use
from tests.support.scripted_anthropic.turns import text as said
from tests.support.service import Chat, Message, Running, serving, settings_for

_PLUGIN = '''
from app.toolkit.context import ToolContext
from app.toolkit.tool import ToolArgs, tool


class WorksArgs(ToolArgs):
    text: str


@tool(category="general", toolset="plugins", kind="read")
async def works(args: WorksArgs, ctx: ToolContext):
    """Work."""
    await ctx.progress("half", current=1, total=2)
    yield args.text


TOOLS = (works,)
'''


async def called(running: Running, style: str | None, calls: list[dict[str, Any]]) -> Chat:
    """Call tools while watching, to the end; everything that was seen."""
    session = running.session()
    async with running.connect() as chat:
        wanted = {} if style is None else {"older_events": style}
        await chat.command(type="subscribe", session_id=session.id, **wanted)
        await chat.command(type="tool_call", session_id=session.id, calls=calls)
        await chat.until("run_finished")
        return chat


def call(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def of(chat: Chat, call_id: str, *kinds: str) -> list[Message]:
    return [m for m in chat.seen if m.get("tool_call_id") == call_id and m["type"] in kinds]


SUM = call("calculator", "c1", expression="6*7")
WRONG = call("calculator", "c2", expression="6*")


@pytest.mark.requirement("EVT-02", "B-25")
async def test_each_call_is_a_tool_call_and_a_tool_result(running: Running):
    chat = await called(running, "netaclaw", [SUM, WRONG])

    for call_id, success in (("c1", True), ("c2", False)):
        kinds = [m["type"] for m in chat.seen if m.get("tool_call_id") == call_id]
        assert kinds == ["tool_call_started", "tool_call", "tool_call_completed", "tool_result"]
        started, begun, completed, result = [
            m for m in chat.seen if m.get("tool_call_id") == call_id
        ]
        assert begun["after_seq"] == started["seq"]
        assert begun["call"]["function"]["name"] == "calculator"
        assert json.loads(begun["call"]["function"]["arguments"]) == begun["args"]
        assert begun["call"]["id"] == call_id
        assert (result["success"], result["after_seq"]) == (success, completed["seq"])
        assert result["content"] == completed["content"][0]["text"]
    assert "42" in of(chat, "c1", "tool_result")[0]["content"]
    for message in chat.seen:
        server_message.validate_python(message)


@pytest.mark.requirement("EVT-09", "B-25")
async def test_a_call_starts_and_completes_or_fails_and_the_batch_ends(running: Running):
    chat = await called(running, "countbot", [SUM, WRONG])

    assert [m["type"] for m in of(chat, "c1", "tool_start", "tool_complete")] == [
        "tool_start",
        "tool_complete",
    ]
    assert "42" in of(chat, "c1", "tool_complete")[0]["result"]
    assert of(chat, "c1", "tool_complete")[0]["duration_ms"] >= 0
    failed = of(chat, "c2", "tool_error")
    assert len(failed) == 1
    assert failed[0]["error"]
    (batch,) = [m for m in chat.seen if m["type"] == "batch_tools_complete"]
    assert sorted(batch["tool_call_ids"]) == ["c1", "c2"]
    assert (batch["succeeded"], batch["failed"]) == (1, 1)
    for message in chat.seen:
        server_message.validate_python(message)


@pytest.mark.parametrize("most", [2, 1])
async def test_a_batch_of_which_nothing_is_run_ends_all_the_same(tmp_path: Path, most: int):
    turns = (Turn(tool_use("list_dir", {"path": "."}, id="t1")), Turn(said("Then not.")))
    async with open_place(tmp_path, max_iterations=most) as place:
        place.goals.script("a", *turns)
        session_id = place.running.session().id
        message = {"type": "user_message", "session_id": session_id, "content": "a"}
        async with place.running.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id, older_events="countbot")
            await chat.command(**message, tools_enabled=False)
            batch = await chat.until("batch_tools_complete")

    assert (batch["tool_call_ids"], batch["succeeded"], batch["failed"]) == (["t1"], 0, 1)


@pytest.mark.requirement("EVT-09")
async def test_progress_is_reported_in_hundredths(tmp_path: Path):
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "works.py").write_text(_PLUGIN)
    async with serving(settings_for(tmp_path)) as running:
        chat = await called(running, "countbot", [call("works", "c1", text="x")])

    (progress,) = of(chat, "c1", "tool_progress")
    assert (progress["progress"], progress["tool_name"]) == (50.0, "works")


async def test_nobody_gets_them_unasked(running: Running):
    chat = await called(running, None, [SUM])

    assert [m for m in chat.seen if m["type"] in ("tool_call", "tool_result", "tool_start")] == []


@pytest.mark.requirement("B-25")
async def test_a_replay_brings_the_same_ones_again(running: Running):
    live = await called(running, "netaclaw", [SUM])
    async with running.connect() as chat:
        session_id = live.durable()[0]["session_id"]
        watch = {"type": "subscribe", "session_id": session_id, "older_events": "netaclaw"}
        await chat.command(**watch)
        await chat.until("run_finished")

    older = ("tool_call", "tool_result")
    assert of(chat, "c1", *older) == of(live, "c1", *older)


async def test_a_style_that_is_none_is_refused(running: Running):
    session = running.session()
    async with running.connect() as chat:
        answer = await chat.command(type="subscribe", session_id=session.id, older_events="x")

    assert answer["error"]["details"]["errors"][0]["path"] == "older_events"
