"""Kill -9 in the middle: what a client was told is still there, and nothing runs twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text
from tests.support.server_process import new_session, server


async def test_a_killed_service_shows_the_run_as_interrupted_and_runs_nothing_again(
    tmp_path: Path,
):
    calls = [
        {"id": "quick", "name": "bash", "arguments": {"command": "echo quick >> log"}},
        {
            "id": "slow",
            "name": "bash",
            "arguments": {"command": "echo slow | tee -a log; sleep 60"},
        },
    ]
    async with server(tmp_path) as first:
        session_id = await new_session(first)
        async with first.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            await chat.command(type="tool_call", session_id=session_id, calls=calls)
            # Its tree ends a moment after the service: by then it has written what it writes.
            await chat.until("tool_result_streamed", lambda m: m["tool_call_id"] == "slow")
            if not [m for m in chat.seen if m["type"] == "tool_call_completed"]:
                await chat.until("tool_call_completed")
            await first.kill()
        acknowledged = chat.durable()
    log = tmp_path / "data" / "workspace" / "log"
    written = log.read_text()

    async with server(tmp_path) as second:
        page = await second.get(f"/sessions/{session_id}/events?limit=1000")
        runs = await second.get(f"/sessions/{session_id}/runs")
        stored = await second.get(f"/sessions/{session_id}/calls")

    events = page["events"]
    assert events[: len(acknowledged)] == acknowledged
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ends = {e["tool_call_id"]: e["status"] for e in events if e["type"] == "tool_call_completed"}
    assert ends == {"quick": "success", "slow": "interrupted"}
    assert (events[-1]["type"], events[-1]["status"]) == ("run_finished", "interrupted")
    assert runs["runs"][0]["status"] == "interrupted"
    assert {call["id"]: call["status"] for call in stored["calls"]} == ends
    assert log.read_text() == written


async def test_what_was_acknowledged_before_a_kill_is_never_lost(tmp_path: Path):
    seen: list[dict[str, Any]] = []
    async with server(tmp_path) as first:
        session_id = await new_session(first)
        async with first.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            for number in range(12):
                await chat.send(
                    {
                        "type": "tool_call",
                        "id": f"call-{number}",
                        "session_id": session_id,
                        "name": "calculator",
                        "arguments": {"expression": f"{number}*2"},
                    }
                )
                # Not only the call's end: the next one would find the session busy.
                await chat.until("run_finished")
            await first.kill()
            seen = chat.durable()
    async with server(tmp_path) as second:
        page = await second.get(f"/sessions/{session_id}/events?limit=1000")

    assert page["events"][: len(seen)] == seen
    assert json.dumps(seen)


async def test_a_message_that_waited_for_its_turn_is_kept(tmp_path: Path):
    async with ScriptedAnthropic() as provider:
        held = Gate()
        provider.script(Turn(text("thinking ", held)))
        model = {
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": provider.base_url,
            "TOLLGATE_DURABLE_RUNS": "close",
        }
        async with server(tmp_path, model) as first:
            session_id = await new_session(first)
            say = {"type": "user_message", "session_id": session_id}
            async with first.connect() as chat:
                await chat.command(**say, content="first")
                await held.reached.wait()
                for number in range(2):
                    await chat.command(**say, content=f"later {number}", when_busy="queue")
                await first.kill()
        held.open()
        async with server(tmp_path, model) as second:
            messages = (await second.get(f"/sessions/{session_id}/messages"))["messages"]
            runs = (await second.get(f"/sessions/{session_id}/runs"))["runs"]
            events = (await second.get(f"/sessions/{session_id}/events"))["events"]

    said = [message["content"][0]["text"] for message in messages if message["role"] == "user"]
    assert said == ["first", "later 0", "later 1"]
    assert [run["status"] for run in runs] == ["interrupted"] * 3
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ends = [event["status"] for event in events if event["type"] == "run_finished"]
    assert ends == ["interrupted"] * 3


async def test_a_command_sent_again_after_a_kill_is_not_carried_out_twice(tmp_path: Path):
    async with ScriptedAnthropic() as provider:
        provider.script(Turn(text("Hello.")))
        model = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server(tmp_path, model) as first:
            session_id, said_in = await new_session(first), await new_session(first)
            arguments = {"command": "echo x >> log"}
            call: dict[str, Any] = {"type": "tool_call", "id": "call", "session_id": session_id}
            call["name"] = "bash"
            say = {"type": "user_message", "id": "say", "session_id": said_in, "content": "Hello?"}
            commands: list[dict[str, Any]] = [{**call, "arguments": arguments}, say]
            before = []
            async with first.connect() as chat:
                for command in commands:
                    await chat.command(type="subscribe", session_id=command["session_id"])
                    await chat.send(command)
                    before.append(await chat.answer_to(command["id"]))
                    await chat.until("run_finished")
                await first.kill()
        after = []
        async with server(tmp_path, model) as second, second.connect() as chat:
            for command in commands:
                await chat.send(command)
                after.append(await chat.answer_to(command["id"]))
            await chat.send({**call, "arguments": {"command": "echo y >> log"}})
            other = await chat.answer_to("call")
            runs = [await second.get(f"/sessions/{key}/runs") for key in (session_id, said_in)]

    assert [answer["result"] for answer in after] == [answer["result"] for answer in before]
    assert [answer["duplicate"] for answer in (*before, *after)] == [False, False, True, True]
    assert other["error"]["code"] == "conflict"
    assert [len(page["runs"]) for page in runs] == [1, 1]
    assert len(provider.requests) == 1
    assert (tmp_path / "data" / "workspace" / "log").read_text() == "x\n"
