from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.rest.client import new_session, problem, watching
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
        tmp_path,
        model="scripted",
        anthropic_api_key="test",
        anthropic_base_url=provider.base_url,
    )


async def test_a_message_runs_the_agent_to_its_answer(
    client: httpx2.AsyncClient, provider: ScriptedAnthropic
):
    provider.script(
        Turn(text("I look."), tool_use("calculator", {"expression": "6*7"})),
        Turn(text("It is 42.")),
    )
    session_id = await new_session(client)

    async with watching(client, session_id) as reader:
        accepted = await client.post(f"/sessions/{session_id}/messages", json={"content": "6*7?"})
        events = await reader.until("run_finished")

    run = (await client.get(f"/sessions/{session_id}/runs/{accepted.json()['run_id']}")).json()
    messages = (await client.get(f"/sessions/{session_id}/messages")).json()["messages"]
    assert accepted.status_code == 202
    assert (run["status"], run["trigger"], run["stop_reason"]) == ("success", "message", "end_turn")
    assert run["usage"]["output_tokens"] > 0
    assert [item["role"] for item in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[0]["id"] == accepted.json()["message_id"]
    assert messages[-1]["content"] == [{"type": "text", "text": "It is 42."}]
    assert {"text_delta", "tool_call_started", "tool_call_completed"} <= {
        event["type"] for event in events
    }


async def test_a_run_is_shown_while_it_is_active_and_can_be_cancelled_once(
    client: httpx2.AsyncClient, provider: ScriptedAnthropic
):
    gate = Gate()
    provider.script(Turn(text("Hel", gate, "lo")))
    session_id = await new_session(client)
    path = f"/sessions/{session_id}"
    async with watching(client, session_id) as reader:
        run_id = (await client.post(f"{path}/messages", json={"content": "hi"})).json()["run_id"]
        await gate.reached.wait()

        snapshot = (await client.get(f"{path}/snapshot")).json()
        busy = await problem(await client.post(f"{path}/messages", json={"content": "and"}))
        branching = await problem(await client.post(f"{path}/branch", json={"entry_id": None}))
        stopped = await client.post(f"{path}/runs/{run_id}/cancel")
        finished = (await reader.until("run_finished"))[-1]
        again = await client.post(f"{path}/runs/{run_id}/cancel")
    gate.open()
    assert snapshot["active_run"]["run_id"] == run_id
    assert (busy["code"], branching["code"]) == ("busy", "busy")
    assert stopped.json() == {"run_id": run_id, "already_finished": False}
    assert finished["status"] == "cancelled"
    assert again.json() == {"run_id": run_id, "already_finished": True}


async def test_a_queued_message_is_answered_after_the_one_before(
    client: httpx2.AsyncClient, provider: ScriptedAnthropic
):
    gate = Gate()
    provider.script(Turn(text("one", gate, "!")), Turn(text("two")))
    session_id = await new_session(client)
    path = f"/sessions/{session_id}/messages"
    async with watching(client, session_id) as reader:
        first = (await client.post(path, json={"content": "1"})).json()
        await gate.reached.wait()
        second = await client.post(path, json={"content": "2", "when_busy": "queue"})
        gate.open()
        ended = [(await reader.until("run_finished"))[-1] for _ in range(2)]
    assert second.status_code == 202
    assert [event["run_id"] for event in ended] == [first["run_id"], second.json()["run_id"]]


async def test_a_run_of_another_session_is_not_found(
    client: httpx2.AsyncClient, provider: ScriptedAnthropic
):
    provider.script(Turn(text("done")))
    session_id, other = await new_session(client), await new_session(client)
    async with watching(client, session_id) as reader:
        sent = await client.post(f"/sessions/{session_id}/messages", json={"content": "hi"})
        await reader.until("run_finished")
    run_id = sent.json()["run_id"]

    read = await problem(await client.get(f"/sessions/{other}/runs/{run_id}"))
    stop = await problem(await client.post(f"/sessions/{other}/runs/{run_id}/cancel"))

    assert (read["status"], stop["status"]) == (404, 404)
