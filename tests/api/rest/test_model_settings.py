"""What a model is asked with, by REST and WebSocket, down to its sub-agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scripts.parts import SANDBOX
from tests.agents.delegation.department import Goals
from tests.api.rest.client import call, new_session, problem
from tests.support.binaries import lacks
from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import Running, serving, settings_for

SERVICE: dict[str, Any] = {"model": "m-service", "max_tokens": 900, "temperature": 0.9}
AGENT: dict[str, Any] = {"model": "m-agent", "max_tokens": 700, "temperature": 0.7}
SESSION: dict[str, Any] = {"model": "m-session", "max_tokens": 500, "temperature": 0.0}
NONE: dict[str, Any] = {"model": None, "max_tokens": None, "temperature": None}


class Place:
    """A served service, its model and a client."""

    def __init__(self, running: Running, goals: Goals, client: httpx2.AsyncClient) -> None:
        self.running = running
        self.goals = goals
        self.client = client

    async def say(self, session_id: str, words: str, *turns: Turn, **fields: Any) -> None:
        """Say something over the WebSocket, and wait for the end of its run."""
        self.goals.script(words, *turns)
        async with self.running.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            message = {"type": "user_message", "session_id": session_id, "content": words}
            run_id = (await chat.command(**message, **fields))["result"]["run_id"]
            ended = await chat.until("run_finished", lambda event: event["run_id"] == run_id)
            assert ended["status"] == "success"

    def asked(self, words: str) -> dict[str, Any]:
        """What the last request of a conversation was made with."""
        body = self.goals.asked[words][-1].body
        return {name: body.get(name) for name in SERVICE}


@asynccontextmanager
async def open_place(tmp_path: Path, **overrides: Any) -> AsyncIterator[Place]:
    goals = Goals()
    async with ScriptedAnthropic(fallback=goals) as provider:
        settings = settings_for(
            tmp_path,
            anthropic_api_key="test-key",
            anthropic_base_url=provider.base_url,
            **SERVICE | overrides,
        )
        async with (
            serving(settings) as running,
            HttpClient(base_url=running.api) as client,
        ):
            yield Place(running, goals, client)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with open_place(tmp_path) as place:
        yield place


async def test_the_session_decides_before_its_agent_and_that_before_the_service(place: Place):
    client = place.client
    await client.post("/admin/agents", json={"id": "writer", **AGENT})
    plain = await new_session(client)
    agents = await new_session(client, agent_id="writer")
    own = await new_session(client, agent_id="writer", **SESSION)
    await place.say(plain, "a")
    await place.say(agents, "b")
    await place.say(own, "c")

    assert [place.asked(words) for words in "abc"] == [SERVICE, AGENT, SESSION]
    shown = (await client.get(f"/sessions/{own}")).json()
    assert {name: shown[name] for name in SESSION} == SESSION


async def test_a_change_holds_from_the_next_request_on_and_after_a_restart(tmp_path: Path):
    async with open_place(tmp_path) as place:
        session_id = await new_session(place.client)
        path = f"/sessions/{session_id}"
        changed = await place.client.patch(path, json=SESSION)
        assert changed.status_code == 200
        await place.say(session_id, "a")
        await place.client.patch(path, json={"temperature": 0.25})
    async with open_place(tmp_path) as place:
        await place.client.post(f"{path}/branch", json={"entry_id": None})
        await place.say(session_id, "b")
        assert place.asked("b") == SESSION | {"temperature": 0.25}
        renamed = await place.client.patch(path, json={"title": "New"})
        assert {name: renamed.json()[name] for name in SESSION} == place.asked("b")
        cleared = await place.client.patch(path, json=NONE)
        assert {name: cleared.json()[name] for name in NONE} == NONE
        assert cleared.json()["title"] == "New"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "body"),
        ({"max_tokens": 0}, "body.max_tokens"),
        ({"max_tokens": 1.5}, "body.max_tokens"),
        ({"temperature": 2.1}, "body.temperature"),
        ({"temperature": -0.1}, "body.temperature"),
        ({"model": ""}, "body.model"),
        ({"title": None}, "body.title"),
        ({"title": ""}, "body.title"),
    ],
)
async def test_a_setting_that_is_none_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any], path: str
):
    session_id = await new_session(client)
    reported = await problem(await client.patch(f"/sessions/{session_id}", json=body))

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert [error["path"] for error in reported["details"]["errors"]] == [path]


@pytest.mark.requirement("SUB-07", "CTX-03")
@pytest.mark.parametrize("door", ["agent", "rest", "websocket"])
async def test_sub_agents_are_asked_with_the_settings_of_the_conversation(place: Place, door: str):
    """Whoever delegates: the conversation's agent, or a client without a model."""
    if not place.running.service.workspaces.status.levels["bash"].available:
        lacks(SANDBOX)
    client = place.client
    await client.post("/admin/agents", json={"id": "writer", **AGENT})
    own = {"model": "m-session", "temperature": 0.1}
    session_id = await new_session(client, agent_id="writer", **own)
    arguments = {"goal": "child"}
    if door == "agent":
        delegating = tool_use("delegate_task", arguments, id="d1")
        await place.say(session_id, "please", Turn(delegating), Turn(text("Done.")))
    elif door == "rest":
        done = await call(client, "delegate_task", arguments=arguments, session_id=session_id)
        assert done["status"] == "success", done
    else:
        async with place.running.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            called = {"name": "delegate_task", "arguments": arguments}
            await chat.command(type="tool_call", session_id=session_id, **called)
            await chat.until("run_finished")

    assert place.asked("child") == AGENT | own


@pytest.mark.requirement("CTX-04")
@pytest.mark.parametrize("door", ["rest", "websocket"])
async def test_a_message_may_be_answered_without_tools(place: Place, door: str):
    session_id = await new_session(place.client)
    if door == "rest":
        path = f"/sessions/{session_id}/messages"
        async with place.running.connect() as chat:
            await chat.command(type="subscribe", session_id=session_id)
            body = {"content": "a", "tools_enabled": False}
            assert (await place.client.post(path, json=body)).status_code == 202
            started = await chat.until("run_started")
            await chat.until("run_finished")
        assert started["tool_names"] == []
    else:
        await place.say(session_id, "a", tools_enabled=False)
    without = place.goals.asked["a"][-1]
    await place.say(session_id, "b")
    received = place.goals.asked["a"][-1]

    assert without.tool_names == []
    assert "bash" not in str(without.body["system"])
    # The next message of the conversation has them again.
    assert "bash" in received.tool_names


@pytest.mark.requirement("CTX-04")
async def test_calls_of_before_stand_there_but_no_more_are_made(place: Place):
    def stubborn(_: Received) -> Turn:
        return Turn(tool_use("write_file", {"path": "x", "content": "y"}, id="t2"))

    session_id = await new_session(place.client)
    reading = tool_use("list_dir", {"path": "."}, id="t1")
    await place.say(session_id, "a", Turn(reading), Turn(text("Empty.")))
    place.goals.script("a", stubborn, Turn(text("Then not.")))
    await place.say(session_id, "b", tools_enabled=False)
    first, last = place.goals.asked["a"][-2:]

    assert first.body["tool_choice"] == {"type": "none"}
    assert "tools are disabled" in str(last.tool_results()["t2"])
    workspace = place.running.service.settings.workspace_dir
    assert not (workspace / "x").exists()
    calls = (await place.client.get(f"/sessions/{session_id}/calls")).json()["calls"]
    assert [item["id"] for item in calls] == ["t1"]
