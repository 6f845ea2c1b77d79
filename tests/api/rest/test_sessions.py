from __future__ import annotations

from typing import Any

import httpx2
import orjson
import pytest

from app.db.statements import SET_USAGE
from app.toolkit.context import ToolContext
from tests.api.people import user
from tests.api.rest.client import call, new_session, problem
from tests.execution.lab import AnyArgs, made
from tests.support.service import Running

FACTS = {"channelId": "wx_1", "currentAgent": {"modelChannelId": "m_1", "rank": 2}, "tenant": 7}


async def test_a_session_starts_in_the_default_project(client: httpx2.AsyncClient):
    created = (await client.post("/sessions", json={"title": "Mine"})).json()

    assert (created["title"], created["project_id"], created["kind"]) == ("Mine", "default", "chat")
    assert (await client.get(f"/sessions/{created['id']}")).json() == created


async def test_a_session_of_an_unknown_project_is_not_started(client: httpx2.AsyncClient):
    reported = await problem(await client.post("/sessions", json={"project_id": "nope"}))

    assert (reported["status"], reported["details"]) == (404, {"project_id": "nope"})
    assert (await client.get("/sessions")).json()["sessions"] == []


async def test_a_session_can_be_renamed(client: httpx2.AsyncClient):
    session_id = await new_session(client)

    renamed = await client.patch(f"/sessions/{session_id}", json={"title": "Better"})

    assert renamed.json()["title"] == "Better"
    assert (await client.get(f"/sessions/{session_id}")).json()["title"] == "Better"


async def test_calls_of_a_session_come_in_pages(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    for number in range(5):
        arguments = {"expression": f"{number}+1"}
        await call(client, "calculator", arguments=arguments, session_id=session_id)
    seen, where = [], {"limit": "2"}
    while True:
        page = (await client.get(f"/sessions/{session_id}/calls", params=where)).json()
        seen += [item["function"]["arguments"] for item in page["calls"]]
        if page["next_after"] is None:
            break
        where["after"] = page["next_after"]
    assert seen == [f'{{"expression":"{number}+1"}}' for number in range(5)]


async def test_sessions_come_in_pages(client: httpx2.AsyncClient):
    ids = [await new_session(client, title=str(number)) for number in range(3)]
    for number, session_id in enumerate(ids):
        await client.patch(f"/sessions/{session_id}", json={"title": f"again {number}"})

    first = (await client.get("/sessions", params={"limit": 2})).json()
    rest = (
        await client.get("/sessions", params={"limit": 2, "before": first["next_before"]})
    ).json()

    assert len(first["sessions"]) == 2
    seen = [row["id"] for row in [*first["sessions"], *rest["sessions"]]]
    assert sorted(seen) == sorted(ids)
    assert rest["next_before"] is None


async def test_a_branch_goes_on_from_an_earlier_message(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    await call(client, "calculator", arguments={"expression": "1"}, session_id=session_id)
    root, result = (await client.get(f"/sessions/{session_id}/messages")).json()["messages"]

    moved = await client.post(f"/sessions/{session_id}/branch", json={"entry_id": root["id"]})
    await call(client, "calculator", arguments={"expression": "2"}, session_id=session_id)

    path = (await client.get(f"/sessions/{session_id}/messages")).json()["messages"]
    tree = (await client.get(f"/sessions/{session_id}/messages", params={"tree": "true"})).json()[
        "messages"
    ]
    assert moved.json()["leaf_entry_id"] == root["id"]
    assert [item["parent_id"] for item in path] == [None, root["id"], path[1]["id"]]
    assert len(tree) == 4
    assert result["id"] in {item["id"] for item in tree} - {item["id"] for item in path}


async def test_a_branch_is_reported_to_whoever_follows_the_session(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    await call(client, "calculator", arguments={"expression": "1"}, session_id=session_id)
    root = (await client.get(f"/sessions/{session_id}/messages")).json()["messages"][0]

    await client.post(f"/sessions/{session_id}/branch", json={"entry_id": root["id"]})
    await client.post(f"/sessions/{session_id}/branch", json={"entry_id": None})

    log = (await client.get(f"/sessions/{session_id}/events")).json()["events"]
    moves = [event for event in log if event["type"] == "session_branched"]
    assert [event.get("message_id") for event in moves] == [root["id"], None]


async def test_a_branch_from_a_message_of_another_session_is_not_found(
    client: httpx2.AsyncClient,
):
    session_id, other = await new_session(client), await new_session(client)
    await call(client, "calculator", arguments={"expression": "1"}, session_id=other)
    foreign = (await client.get(f"/sessions/{other}/messages")).json()["leaf_entry_id"]

    reported = await problem(
        await client.post(f"/sessions/{session_id}/branch", json={"entry_id": foreign})
    )

    assert (reported["status"], reported["code"]) == (404, "not_found")
    assert (await client.get(f"/sessions/{session_id}")).json()["leaf_entry_id"] is None


async def test_a_snapshot_stands_at_the_end_of_the_log(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    await call(client, "calculator", arguments={"expression": "1"}, session_id=session_id)

    snapshot = (await client.get(f"/sessions/{session_id}/snapshot")).json()

    events = (await client.get(f"/sessions/{session_id}/events")).json()
    assert (snapshot["seq"], snapshot["epoch"]) == (events["head"], events["epoch"])
    assert snapshot["seq"] == len(events["events"])
    assert len(snapshot["messages"]) == 2
    assert (snapshot["active_run"], snapshot["running_calls"]) == (None, [])


@pytest.mark.parametrize(
    "path",
    ["", "/messages", "/runs", "/runs/run_1", "/calls", "/snapshot", "/events", "/events/stream"],
)
async def test_an_unknown_session_is_not_found_anywhere(client: httpx2.AsyncClient, path: str):
    reported = await problem(await client.get(f"/sessions/ses_none{path}"))

    assert (reported["status"], reported["code"]) == (404, "not_found")


@pytest.mark.requirement("CTX-10")
async def test_tools_of_a_session_see_what_it_was_begun_with(
    client: httpx2.AsyncClient, serving: Running
):
    seen: list[dict[str, Any]] = []

    async def note(args: AnyArgs, ctx: ToolContext) -> str:
        seen.append(dict(ctx.business))
        return "noted"

    serving.service.registry.register(made(note))
    session_id = await new_session(client, business=FACTS)
    await call(client, "note", session_id=session_id)
    await call(client, "note", session_id=await new_session(client))
    assert seen == [FACTS, {}]
    assert (await client.get(f"/sessions/{session_id}")).json()["business"] == FACTS
    listed = (await client.get("/sessions")).json()["sessions"]
    assert sorted(str(item["business"]) for item in listed) == sorted(["None", str(FACTS)])


async def test_only_administrators_say_which_channel_a_session_belongs_to(serving: Running):
    async with user(serving, "ann") as ann, user(serving, "gate", "admin", "chat") as gateway:
        refused = await ann.post("/sessions", json={"business": FACTS})
        assert (await problem(refused))["status"] == 403
        assert (await ann.get("/sessions")).json()["sessions"] == []
        assert (await ann.post("/sessions", json={"business": None})).status_code == 201
        assert (await gateway.post("/sessions", json={"business": FACTS})).status_code == 201


@pytest.mark.parametrize(
    ("business", "field"),
    [
        ({"channelId": 7}, "business.channelId"),
        ({"channelId": ""}, "business.channelId"),
        ({"currentAgent": "m_1"}, "business.currentAgent"),
        ({"currentAgent": {"modelChannelId": []}}, "business.currentAgent.modelChannelId"),
        ({"more": "x" * 9000}, "business"),
        ("wx_1", "business"),
    ],
)
async def test_facts_that_tools_would_misread_are_refused(
    client: httpx2.AsyncClient, business: Any, field: str
):
    reported = await problem(await client.post("/sessions", json={"business": business}))
    assert reported["status"] == 422
    assert [error["path"] for error in reported["details"]["errors"]] == [f"body.{field}"]


async def test_a_session_has_the_usage_of_all_its_runs(
    client: httpx2.AsyncClient, serving: Running
):
    session_id = await new_session(client)
    assert (await client.get(f"/sessions/{session_id}")).json()["usage"] == {}
    used = {"input_tokens": 5, "output_tokens": 1, "cost": 0.25, "unpriced_tokens": 2}
    serving.service.db.append(SET_USAGE, (orjson.dumps(used).decode(), session_id))
    await serving.service.db.flush()
    assert (await client.get(f"/sessions/{session_id}")).json()["usage"] == used
    listed = (await client.get("/sessions")).json()["sessions"]
    assert listed[0]["usage"] == used
