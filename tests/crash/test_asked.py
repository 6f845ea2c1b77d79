"""A service dies while its sub-agent asks: the real thing, with a worker process and a client."""

from __future__ import annotations

from pathlib import Path

from tests.agents.delegation.department import Goals
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.server_process import new_session, server

COMMAND = {"command": "rm -f nothing; echo x >> ran"}


async def test_what_a_sub_agent_asks_is_answered_in_the_next_service(tmp_path: Path):
    goals = Goals()
    task = {"goal": "Clean up.", "label": "cleaner", "background": True}
    goals.script("Begin", Turn(tool_use("delegate_task", task, id="d1")), Turn(text("It goes on.")))
    goals.script("Clean up.", Turn(tool_use("bash", COMMAND, id="b1")), Turn(text("Clean.")))
    async with ScriptedAnthropic(fallback=goals) as provider:
        environment = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server(tmp_path, environment) as first:
            session_id = await new_session(first)
            async with first.connect() as chat:
                await chat.command(type="subscribe", session_id=session_id)
                await chat.command(type="user_message", session_id=session_id, content="Begin")
                await chat.until("run_finished")
                asked = next(
                    (m for m in chat.seen if m["type"] == "tool_confirmation_request"), None
                ) or await chat.until("tool_confirmation_request")
            await first.kill()
        async with server(tmp_path, environment) as second, second.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id, after=asked["seq"])
            answered = await chat.command(
                type="tool_confirmation_response",
                session_id=session_id,
                confirmation_id=asked["confirmation_id"],
                digest=asked["digest"],
                option_id="approve_once",
            )
            assert answered["type"] == "ack", answered
            resolved = await chat.until("tool_confirmation_resolved")
            ended = await chat.until("subagent_finished")
            kinds = [message["type"] for message in chat.seen]
    assert (resolved["outcome"], asked["requested_by"]["subagent"]) == ("approved", "cleaner")
    assert (ended["status"], ended["summary"]) == ("success", "Clean.")
    assert "run_resumed" not in kinds
    assert (tmp_path / "data" / "workspace" / "ran").read_text() == "x\n"
    assert provider.refused == []
