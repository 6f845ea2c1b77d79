"""Sub-agents in the terminal chat: named wherever they do something."""

from __future__ import annotations

from pathlib import Path

from app.cli.confirmation_text import confirmation_lines
from tests.agents.delegation.department import Goals
from tests.agents.models.exchange import KEY
from tests.cli.test_chat import chat, delta, shown
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import serving, settings_for

CHILD: dict[str, object] = {"run_id": "run_2", "parent_tool_call_id": "call_1"}
BEGUN: dict[str, object] = {
    "type": "subagent_started",
    "child_run_id": "run_2",
    "name": "eye\x1b[2J",
    "task": "Look\naround",
}
LISTED: dict[str, object] = {
    "type": "tool_call_completed",
    "tool_call_id": "c",
    "tool_name": "list_dir",
    "status": "success",
    "duration_ms": 1.0,
    "content": [{"type": "text", "text": "a.txt"}],
}


def test_a_sub_agent_is_named_before_its_calls():
    ended = {"type": "subagent_finished", "child_run_id": "run_2", "status": "success"}
    calls = {"type": "tool_call_started", "tool_call_id": "c", "title": "list_dir: src"}
    reported = {**delta("between", 0, 1), "run_id": "run_2"}
    events = (BEGUN, reported, CHILD | calls, CHILD | LISTED, ended | {"rounds": 2}, calls)
    assert shown(*events) == (
        "▸ [eye\\x1b[2J] Look\n"
        "● [eye\\x1b[2J] list_dir: src\n  │ a.txt\n  ✓ [eye\\x1b[2J] list_dir done, 0.00 s\n"
        "▪ [eye\\x1b[2J] success, rounds: 2\n"
        "● list_dir: src\n"
    )


def test_a_sub_agent_that_was_begun_before_is_still_distinguished():
    error = {"code": "worker_lost", "message": "Its process has ended", "retryable": False}
    ended = {
        "type": "subagent_finished",
        "child_run_id": "run_2",
        "status": "error",
        "name": "eye",
        "error": error,
    }
    assert shown(CHILD | LISTED, ended) == (
        "  │ a.txt\n  ✓ [sub-agent] list_dir done, 0.00 s\n"
        "▪ [eye] error, rounds: 0: Its process has ended\n"
    )


def test_a_question_names_the_sub_agent_that_asks():
    request = {
        "tool_name": "bash",
        "subject": {"type": "command", "command": "rm -rf x", "cwd": "/w"},
        "risk": {"level": "high", "rules": []},
        "requested_by": {"caller": "subagent", "subagent": "eye\u202e", "agent_id": "reader"},
    }
    lines = confirmation_lines(request)
    assert lines[-2:] == [
        "  requested by the sub-agent eye\\u202e",
        "  requested by the agent reader",
    ]
    alone = confirmation_lines({**request, "requested_by": {"caller": "agent"}})
    assert not any("requested by" in line for line in alone)


async def test_a_sub_agent_works_and_asks_in_the_chat_of_its_agent(tmp_path: Path):
    goals = Goals()
    task = {"goal": "tidy up", "label": "broom"}
    goals.script("clean", Turn(tool_use("delegate_task", task)), Turn(text("All clean.")))
    risky = {"command": "rm -rf --one-file-system gone"}
    goals.script("tidy up", Turn(text("I begin. "), tool_use("bash", risky)), Turn(text("Swept.")))
    async with ScriptedAnthropic(fallback=goals, api_key=KEY) as provider:
        settings = settings_for(
            tmp_path, anthropic_api_key=KEY, anthropic_base_url=provider.base_url
        )
        async with serving(settings) as running, chat(running, "--new") as terminal:
            await terminal.expect("› ")
            terminal.type("clean\n")
            await terminal.expect("▸ [broom] tidy up")
            await terminal.expect("  requested by the sub-agent broom")
            await terminal.expect("edit arguments: ")
            terminal.type("a\n")
            await terminal.expect("✓ [broom] bash done")
            await terminal.expect("▪ [broom] success, rounds: 2")
            await terminal.expect("— run success")
            seen = terminal.shown
    assert "All clean." in seen
    assert "I begin." not in seen
