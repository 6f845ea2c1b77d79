"""Governance of tools over REST."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.api.rest.client import call, problem
from tests.support.service import Running

LACKING_PROGRAMS = {"powershell", "screenshot"}  # where the machine has no pwsh and no Chromium
UNCONFIGURED = {"text_to_image", "image_to_image", "remote_trigger"}


async def row(client: httpx2.AsyncClient, name: str) -> dict[str, Any]:
    answer = await client.get(f"/admin/tools/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{found["version"]}"'
    return found


async def listed(client: httpx2.AsyncClient, **params: Any) -> list[str]:
    answer = await client.get("/admin/tools", params=params)
    assert answer.status_code == 200, answer.text
    return [item["name"] for item in answer.json()["tools"]]


async def test_tools_are_filtered_and_come_in_pages(client: httpx2.AsyncClient):
    everything = await listed(client)
    assert everything == sorted(everything)
    assert await listed(client, toolset="shell") == ["bash", "powershell", "process"]
    assert await listed(client, q="BASHTOOL") == ["bash"]
    assert "bash" in await listed(client, permission="EXTERNAL")
    # Only what this machine lacks, or nobody has configured.
    off = set(await listed(client, state="off"))
    assert UNCONFIGURED <= off <= UNCONFIGURED | LACKING_PROGRAMS
    assert await listed(client, source="plugin") == []
    first = (await client.get("/admin/tools", params={"limit": 5})).json()
    assert (first["total"], len(first["tools"])) == (len(everything), 5)
    rest = await listed(client, limit=500, after=first["next_after"])
    assert [item["name"] for item in first["tools"]] + rest == everything


async def test_every_choice_can_be_made_and_taken_back(client: httpx2.AsyncClient):
    change = {
        "is_core": True,
        "prompt_hint": "be careful",
        "requires_confirmation": True,
        "timeout_s": 5,
        "max_output_chars": 500,
        "limits": {"calls_per_minute": 3},
    }
    changed = (await client.patch("/admin/tools/shell", json=change)).json()
    assert changed["name"] == "bash"
    assert changed["choices"] == {"enabled": True, **change}
    effective = changed["effective"]
    assert (effective["state"], effective["asks_by"], effective["core"]) == (
        "asks",
        "operator",
        True,
    )
    assert (effective["timeout_s"], effective["limits"]) == (5, {"calls_per_minute": 3})
    back = dict.fromkeys(change)
    again = (await client.patch("/admin/tools/bash", json=back)).json()
    assert again["choices"] == {"enabled": True, **back, "limits": {}}
    assert again["version"] == changed["version"] + 1


@pytest.mark.parametrize(
    "change",
    [
        {"enabled": None},
        {"enabled": "yes"},
        {"timeout_s": 0},
        {"max_output_chars": 5},
        {"limits": {"calls_per_minute": -1}},
        {"limits": {"nonsense": 1}},
        {"nonsense": True},
    ],
)
async def test_a_choice_that_does_not_fit_changes_nothing(
    client: httpx2.AsyncClient, change: dict[str, Any]
):
    answer = await client.patch("/admin/tools/bash", json=change)
    assert (answer.status_code, (await row(client, "bash"))["version"]) == (422, 1)


async def test_an_outdated_change_is_refused_with_the_version_there_is(
    client: httpx2.AsyncClient,
):
    tag = (await client.get("/admin/tools/bash")).headers["etag"]
    good = await client.patch(
        "/admin/tools/bash", json={"prompt_hint": "a"}, headers={"If-Match": tag}
    )
    late = await client.patch(
        "/admin/tools/bash", json={"prompt_hint": "b"}, headers={"If-Match": tag}
    )
    assert (good.status_code, late.status_code) == (200, 412)
    assert (await problem(late))["details"] == {"version": 2}
    assert (await row(client, "bash"))["choices"]["prompt_hint"] == "a"


async def test_many_are_switched_together_or_not_at_all(client: httpx2.AsyncClient):
    answer = await client.post(
        "/admin/tools/switch", json={"names": ["bash", "no", "nope"], "enabled": False}
    )
    reported = await problem(answer)
    assert (answer.status_code, reported["details"]["unknown"]) == (404, ["no", "nope"])
    assert (await row(client, "bash"))["choices"]["enabled"] is True
    answer = await client.post(
        "/admin/tools/switch", json={"names": ["shell", "write_file", "bash"], "enabled": False}
    )
    assert answer.json() == {"enabled": False, "changed": ["bash", "write_file"], "unchanged": []}
    off = set(await listed(client, state="off"))
    assert off - UNCONFIGURED - LACKING_PROGRAMS == {"bash", "write_file"}


async def test_a_core_tool_takes_force(client: httpx2.AsyncClient):
    for body in ({"enabled": False}, {"enabled": False, "force": True}):
        answer = await client.patch("/admin/tools/search_tools", json=body)
        if "force" not in body:
            assert (await problem(answer))["details"] == {"core_tools": ["search_tools"]}
    assert answer.json()["effective"]["reason"]["code"] == "disabled_global"
    toolset = await client.patch("/admin/toolsets/system", json={"enabled": False})
    assert toolset.status_code == 409


async def test_a_toolset_is_switched(client: httpx2.AsyncClient):
    sets = {item["name"]: item for item in (await client.get("/admin/toolsets")).json()["toolsets"]}
    tools = ["bash", "powershell", "process"]
    assert sets["shell"] == {"name": "shell", "enabled": True, "tools": tools, "version": 1}
    answer = await client.patch(
        "/admin/toolsets/shell", json={"enabled": False}, headers={"If-Match": '"1"'}
    )
    assert (answer.headers["etag"], answer.json()["enabled"]) == ('"2"', False)
    assert (await row(client, "bash"))["effective"]["reason"]["code"] == "disabled_toolset"
    one = await client.get("/admin/toolsets/shell")
    assert (one.headers["etag"], one.json()) == ('"2"', answer.json())
    assert (await client.get("/admin/toolsets/none")).status_code == 404
    result = await call(client, "bash", arguments={"command": "echo hi"})
    assert (result["status"], result["code"]) == ("disabled", "disabled_toolset")


async def test_every_wrong_limit_is_named_like_any_wrong_field(client: httpx2.AsyncClient):
    wrong = {"limits": {"calls_per_day": 1, "concurrent": "2"}}
    reported = await problem(await client.patch("/admin/tools/bash", json=wrong))
    assert [set(error) for error in reported["details"]["errors"]] == [
        {"path", "message", "code"}
    ] * 2
    paths = [error["path"] for error in reported["details"]["errors"]]
    assert paths == ["body.limits.calls_per_day", "body.limits.concurrent"]


async def test_a_tool_takes_no_limit_that_nobody_counts_for_it(client: httpx2.AsyncClient):
    """A limit of sessions that is stored and shown, and holds nothing, is a trap."""
    wrong = {"limits": {"tokens_per_session": 1, "concurrent": 2}}
    answer = await client.patch("/admin/tools/bash", json=wrong)
    errors = (await problem(answer))["details"]["errors"]
    assert [error["path"] for error in errors] == ["body.limits.tokens_per_session"]
    assert (await row(client, "bash"))["choices"]["limits"] == {}


async def test_a_tool_that_is_not_there_is_suggested_another(client: httpx2.AsyncClient):
    for answer in (
        await client.get("/admin/tools/bsh"),
        await client.patch("/admin/tools/bsh", json={"enabled": False}),
    ):
        assert (answer.status_code, (await problem(answer))["code"]) == (404, "tool_not_found")


async def test_a_tool_the_catalog_has_lost_is_shown_with_its_choices(
    client: httpx2.AsyncClient, serving: Running
):
    runtime = serving.service.runtime
    await client.patch("/admin/tools/calculator", json={"prompt_hint": "kept"})
    runtime.registry.unregister("calculator")
    await runtime.catalog_sync.settled()
    assert await listed(client, state="absent") == ["calculator"]
    lost = await row(client, "calculator")
    assert (lost["present"], lost["choices"]["prompt_hint"]) == (False, "kept")
    assert lost["effective"]["reason"]["code"] == "absent"


async def test_a_change_is_on_record_with_who_and_what(
    client: httpx2.AsyncClient, serving: Running
):
    await client.patch("/admin/tools/bash", json={"enabled": False})
    rows = await serving.service.db.transact(
        lambda t: t.fetch("SELECT actor, detail FROM audit WHERE kind = 'governance.tool'")
    )
    ((actor, detail),) = rows
    assert actor == "local"
    assert json.loads(detail) == {"before": {"enabled": True}, "after": {"enabled": False}}


@pytest.mark.requirement("GOV-13")
async def test_both_pages_say_the_same_of_a_tool(client: httpx2.AsyncClient):
    await client.post("/admin/agents", json={"id": "writer"})
    await client.patch("/admin/tools/bash", json={"enabled": False})
    tool_page = (await row(client, "bash"))["effective"]
    preview = (await client.get("/admin/toolset", params={"agent_id": "writer"})).json()
    rows = {item["name"]: item for item in preview["runtime_diagnostic"]["tools"]}
    assert rows["bash"] == tool_page
    assert preview["disabled_reasons"]["bash"] == tool_page["reason"]


@pytest.mark.requirement("GOV-12")
async def test_the_diagnostic_tells_what_a_sub_agent_could_do(client: httpx2.AsyncClient):
    await client.post("/admin/agents", json={"id": "w", "subagents": {"no_shell": True}})
    preview = (await client.get("/admin/toolset", params={"agent_id": "w"})).json()
    rows = {item["name"]: item for item in preview["runtime_diagnostic"]["tools"]}
    reported = ("effective_subagent_allowed", "worker_routing_hint")
    assert [rows["bash"][key] for key in reported] == [False, "main-process-proxy"]
    assert rows["bash"]["runtime_blocked_reason"]["code"] == "subagent_no_shell"
    assert [rows["grep"][key] for key in reported] == [True, "worker-local"]
    child = await client.get("/admin/toolset", params={"agent_id": "w", "subagent": True})
    assert "bash" not in child.json()["tool_names"]


async def test_a_command_is_explained_and_not_run(client: httpx2.AsyncClient):
    body = {"command": "cd build && rm -rf .", "cwd": "/workspace"}
    reported = (await client.post("/admin/risk/explain", json=body)).json()
    assert reported["verdict"] == "ask"
    assert [segment["argv"][0] for segment in reported["segments"]] == ["cd", "rm"]
    assert reported["findings"]
    assert (await client.post("/admin/risk/explain", json={"command": "ls -l"})).json()[
        "verdict"
    ] == "safe"
