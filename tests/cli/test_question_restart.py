"""A server is killed, or stopped, while a tool asks the user; the next one takes the answer."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.program import PATIENCE_S
from tests.cli.test_restart import TOKEN, rest, socket, watch
from tests.cli.test_serve import started
from tests.support.service import Chat


@pytest.mark.requirement("D-4", "SYS-05")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_tool_s_question_outlives_its_server(installation: Path, number: signal.Signals):
    with started(installation, TOLLGATE_TOKEN=TOKEN) as (process, facts):
        session_id = rest(facts["url"], "/sessions", {})["id"]
        async with socket(facts["url"]) as connection:
            chat = Chat(connection)
            await watch(chat, session_id)
            await chat.command(
                type="tool_call",
                session_id=session_id,
                name="ask_user",
                arguments={"question": "Which?", "choices": ["red", "blue"]},
            )
            asked = await chat.until("question_asked")
            process.send_signal(number)
            process.wait(timeout=PATIENCE_S)
    with started(installation, TOLLGATE_TOKEN=TOKEN) as (_, facts):
        path = f"/sessions/{session_id}/questions"
        (listed,) = rest(facts["url"], path)["questions"]
        assert listed["question_id"] == asked["question_id"]
        assert listed["expires_at"] == asked["expires_at"]
        async with socket(facts["url"]) as connection:
            chat = Chat(connection)
            subscribed = await watch(chat, session_id)
            assert subscribed["pending_questions"] == [listed]
            assert await chat.until("question_asked") == asked
            reported = rest(
                facts["url"], f"{path}/{asked['question_id']}/answer", {"answer": "choice_2"}
            )
            assert reported["outcome"] == "answered"
            completed = await chat.until("tool_call_completed")
            assert completed["status"] == "success"
            assert '"blue"' in completed["content"][0]["text"]
            assert completed["operation_id"] == asked["operation_id"]
            assert (await chat.until("run_finished"))["status"] == "success"
        kinds = [event["type"] for event in chat.durable()]
        assert kinds.count("question_asked") == 1
        assert kinds.count("question_answered") == 1
        assert kinds.count("tool_call_completed") == 1
