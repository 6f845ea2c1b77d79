"""Facts of a channel: set with a session by administrators, read by tools, unknown to models."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.toolkit.context import ToolContext
from tests.api.people import user
from tests.api.rest.client import call, new_session, problem
from tests.execution.lab import AnyArgs, made
from tests.support.service import Running

FACTS = {"channelId": "wx_1", "currentAgent": {"modelChannelId": "m_1", "rank": 2}, "tenant": 7}


@pytest.mark.requirement("CTX-10")
async def test_tools_of_a_session_see_what_it_was_begun_with(
    client: httpx2.AsyncClient, serving: Running
):
    seen: list[dict[str, Any]] = []

    async def note(args: AnyArgs, ctx: ToolContext) -> str:
        seen.append(dict(ctx.business))
        return "noted"

    serving.service.runtime.registry.register(made(note))
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
