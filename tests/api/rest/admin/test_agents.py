"""Agents over REST, and sessions that name one."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.rest.client import call, new_session, problem

WRITER: dict[str, Any] = {
    "id": "writer",
    "title": "Writes",
    "model": "m",
    "selection": ["toolset:files", "grep"],
    "tools": {"write_file": {"state": "ask", "hint": "only docs"}},
    "limits": {"calls_per_minute": 5},
}


@pytest.fixture
async def writer(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/admin/agents", json=WRITER)
    assert answer.status_code == 201, answer.text
    assert answer.headers["etag"] == '"1"'
    made: dict[str, Any] = answer.json()
    return made


async def test_an_agent_is_made_shown_changed_and_removed(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    assert writer["profile"] | WRITER == writer["profile"] | {
        **WRITER,
        "tools": writer["profile"]["tools"],
    }
    shown = await client.get("/admin/agents/writer")
    assert (shown.json(), shown.headers["etag"]) == (writer, '"1"')
    changed = await client.patch(
        "/admin/agents/writer", json={"model": None}, headers={"If-Match": '"1"'}
    )
    assert (changed.json()["profile"]["model"], changed.headers["etag"]) == (None, '"2"')
    assert changed.json()["profile"]["title"] == "Writes"
    late = await client.patch(
        "/admin/agents/writer", json={"model": "x"}, headers={"If-Match": '"1"'}
    )
    assert late.status_code == 412
    assert (await client.delete("/admin/agents/writer")).json()["profile"]["id"] == "writer"
    gone = await client.get("/admin/agents/writer")
    assert gone.status_code == 404


async def test_agents_come_in_pages(client: httpx2.AsyncClient):
    for name in ("a", "b", "c"):
        await client.post("/admin/agents", json={"id": name})
    page = (await client.get("/admin/agents", params={"limit": 2})).json()
    assert [item["profile"]["id"] for item in page["agents"]] == ["a", "b"]
    assert (page["total"], page["next_after"]) == (3, "b")
    rest = (await client.get("/admin/agents", params={"after": "b"})).json()
    assert ([item["profile"]["id"] for item in rest["agents"]], rest["next_after"]) == (["c"], None)


async def test_a_taken_id_is_refused(client: httpx2.AsyncClient, writer: dict[str, Any]):
    answer = await client.post("/admin/agents", json={"id": "WRITER"})
    assert (answer.status_code, (await problem(answer))["code"]) == (409, "already_exists")


async def test_names_that_are_no_tools_are_reported_and_kept(client: httpx2.AsyncClient):
    body = {"id": "a", "selection": ["grep", "later", "toolset:later"]}
    answer = await client.post("/admin/agents", json=body)
    assert answer.json()["unknown"] == ["later", "toolset:later"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": "a b"},
        {"id": "a", "limits": {"nonsense": 1}},
        {"id": "a", "selection": ["no spaces here"]},
        {"id": "a", "max_iterations": True},
        {"id": "a", "nonsense": 1},
    ],
)
async def test_a_profile_that_does_not_fit_is_refused(
    client: httpx2.AsyncClient, body: dict[str, Any]
):
    answer = await client.post("/admin/agents", json=body)
    assert (answer.status_code, (await problem(answer))["code"]) == (422, "validation_failed")


@pytest.mark.requirement("GOV-06")
async def test_an_override_counts_for_this_agent_only(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    await client.post("/admin/agents", json={"id": "other"})
    answer = await client.put("/admin/agents/writer/tools/shell", json={"state": "on"})
    assert answer.json()["profile"]["tools"]["bash"] == {"state": "on", "hint": None}
    await client.put("/admin/agents/other/tools/bash", json={"state": "off"})
    seen = {
        name: (await client.get("/admin/toolset", params={"agent_id": name})).json()
        for name in ("writer", "other")
    }
    assert "bash" in seen["writer"]["tool_names"]
    assert seen["other"]["disabled_reasons"]["bash"]["code"] == "disabled_agent"
    public = await client.get("/toolset", params={"agent_id": "other"})
    assert public.json()["disabled_reasons"] == seen["other"]["disabled_reasons"]


@pytest.mark.requirement("GOV-06")
async def test_an_override_under_an_alias_counts_for_its_tool(client: httpx2.AsyncClient):
    """`exec` is `bash`: a profile that switches it off must not leave `bash` on."""
    made = await client.post("/admin/agents", json={"id": "a", "tools": {"exec": {"state": "off"}}})
    assert made.json()["profile"]["tools"] == {"bash": {"state": "off", "hint": None}}
    assert made.json()["unknown"] == []
    resolved = (await client.get("/admin/toolset", params={"agent_id": "a"})).json()
    assert resolved["disabled_reasons"]["bash"]["code"] == "disabled_agent"
    wanted = {
        "selection": ["exec", "bash", "grep"],
        "tools": {"exec": {"state": "ask"}},
        "subagents": {"selection": ["exec"]},
    }
    changed = (await client.patch("/admin/agents/a", json=wanted)).json()["profile"]
    assert changed["selection"] == ["bash", "grep"]
    assert changed["tools"] == {"bash": {"state": "ask", "hint": None}}
    assert changed["subagents"]["selection"] == ["bash"]


@pytest.mark.parametrize("second", ["off", "ask"])
async def test_two_overrides_of_one_tool_are_refused(client: httpx2.AsyncClient, second: str):
    twice = {"bash": {"state": "on"}, "exec": {"state": second}}
    answer = await client.post("/admin/agents", json={"id": "a", "tools": twice})
    assert answer.status_code == 422
    assert "'exec'" in (await problem(answer))["detail"]


async def test_a_core_tool_is_taken_from_an_agent_by_force_only(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    path = "/admin/agents/writer/tools/search_tools"
    refused = await client.put(path, json={"state": "off"})
    forced = await client.put(path, json={"state": "off", "force": True})
    assert (refused.status_code, forced.status_code) == (409, 200)
    unknown = await client.put("/admin/agents/writer/tools/nope", json={"state": "off"})
    assert (await problem(unknown))["code"] == "tool_not_found"


async def test_a_session_s_agent_must_be_there_and_decides_its_calls(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    answer = await client.post("/sessions", json={"agent_id": "ghost"})
    reported = await problem(answer)
    assert (answer.status_code, reported["details"]["agents"]) == (404, ["writer"])
    session = await new_session(client, agent_id="writer")
    result = await call(client, "bash", arguments={"command": "ls"}, session_id=session)
    assert (result["status"], "not in the selection" in result["text"]) == ("disabled", True)
    await client.delete("/admin/agents/writer")
    assert (await client.get(f"/sessions/{session}/snapshot")).status_code == 200
    result = await call(client, "grep", arguments={"pattern": "x"}, session_id=session)
    assert (result["status"], "Agent 'writer' does not exist" in result["text"]) == (
        "disabled",
        True,
    )
    said = await client.post(f"/sessions/{session}/messages", json={"content": "hi"})
    assert said.status_code == 404


async def test_the_preview_tells_what_a_request_costs(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    everybody = (await client.get("/admin/toolset")).json()
    some = (await client.get("/admin/toolset", params={"agent_id": "writer"})).json()
    # The old path, until 0.4.
    assert some == (await client.get("/admin/resolve", params={"agent_id": "writer"})).json()
    assert 0 < some["tokens"]["schemas"] < everybody["tokens"]["schemas"]
    tokens = some["tokens"]
    assert tokens["total"] == tokens["schemas"] + tokens["prompt"]
    rows = some["runtime_diagnostic"]["tools"]
    shown = sum(item["tokens"] for item in rows if item["shown"] == "yes")
    assert shown == tokens["schemas"] == some["runtime_diagnostic"]["schema_tokens"]
    assert (await client.get("/admin/toolset", params={"agent_id": "ghost"})).status_code == 404


async def test_the_old_name_of_omitted_prompt_parts_is_accepted_and_returned(
    client: httpx2.AsyncClient,
):
    made = await client.post("/admin/agents", json={"id": "plain", "prompt_without": ["todo"]})
    assert made.status_code == 201
    profile = made.json()["profile"]
    assert (profile["prompt_exclude"], profile["prompt_without"]) == (["todo"], ["todo"])
    headers = {"If-Match": made.headers["etag"]}
    body = {"prompt_without": ["date"]}
    changed = await client.patch("/admin/agents/plain", json=body, headers=headers)
    assert changed.json()["profile"]["prompt_exclude"] == ["date"]


async def test_the_state_of_each_tool_for_each_agent_is_that_of_its_own_preview(
    client: httpx2.AsyncClient, writer: dict[str, Any]
):
    for name in ("a", "z"):
        await client.post("/admin/agents", json={"id": name, "selection": ["toolset:shell"]})
    first = (await client.get("/admin/tool-states", params={"limit": 2})).json()
    rest = (await client.get("/admin/tool-states", params={"after": first["next_after"]})).json()
    assert (first["total"], first["next_after"], rest["next_after"]) == (3, "writer", None)
    shown = {one["agent_id"]: one["tools"] for one in first["agents"] + rest["agents"]}
    assert list(shown) == ["a", "writer", "z"]
    for agent_id, tools in shown.items():
        params = {"agent_id": agent_id}
        preview = (await client.get("/admin/toolset", params=params)).json()
        assert tools == [
            {key: row[key] for key in ("name", "state", "reason", "asks_by")}
            for row in preview["runtime_diagnostic"]["tools"]
        ]
    states = {tool["name"]: (tool["state"], tool["asks_by"]) for tool in shown["writer"]}
    assert (states["write_file"], states["bash"]) == (("asks", "agent"), ("off", None))


async def test_without_agents_there_are_no_states_of_tools(client: httpx2.AsyncClient):
    assert (await client.get("/admin/tool-states")).json() == {
        "agents": [],
        "total": 0,
        "next_after": None,
    }
