"""Channels, desktop tasks and operators over REST."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from app.api.desktop_operators import OperatorRates
from app.channels.operators import Operator
from tests.api.people import holding, user
from tests.api.rest.client import new_session, problem
from tests.channels.operator_lab import APPS, GROUP, WEIXIN, config
from tests.support.service import Running

WHO = {"operator": "desk-1", "apps": APPS}
NEW = {"id": "shop", "name": "Shop", "kind": "weixin", "config": config()}


@pytest.fixture
async def shop(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/admin/channels", json=NEW)
    assert (answer.status_code, answer.headers.get("etag")) == (201, '"1"'), answer.text
    made: dict[str, Any] = answer.json()
    return made


async def send(client: httpx2.AsyncClient) -> httpx2.Response:
    session = await new_session(client)
    arguments = {"text": "你好", "target": GROUP, "channelId": "shop"}
    return await client.post(
        "/tools/weixin_send_text/call", json={"arguments": arguments, "session_id": session}
    )


async def polled(client: httpx2.AsyncClient, running: Running) -> str:
    """The id of the task that waits."""
    news = asyncio.Event()
    with running.service.channels.operators.news.listening(news.set):
        while True:
            found = (await client.post("/desktop/poll", json=WHO)).json()["tasks"]
            if found:
                return str(found[0]["task_id"])
            async with asyncio.timeout(60):
                await news.wait()
            news.clear()


async def test_an_operator_polls_claims_and_completes(
    client: httpx2.AsyncClient, serving: Running, shop: dict[str, Any]
):
    async with user(serving, "deb", "desktop") as desk, user(serving, "ann", "admin") as ann:
        call = asyncio.create_task(send(ann))
        task_id = await polled(desk, serving)
        claimed = (await desk.post("/desktop/claim", json={**WHO, "task_id": task_id})).json()
        assert (claimed["task"]["task_id"], claimed["task"]["text"]) == (task_id, "你好\n[AI]")
        path, body = f"/desktop/tasks/{task_id}", {"claim_id": claimed["task"]["claim_id"]}
        early = await desk.post(f"{path}/complete", json=body)
        assert (early.status_code, (await problem(early))["code"]) == (409, "conflict")
        for step, more in (
            ("heartbeat", {}),
            ("progress", {"stage": "pasting"}),
            ("start", {}),
            ("complete", {"verified": True}),
        ):
            answer = await desk.post(f"{path}/{step}", json=body | more)
            assert (answer.status_code, answer.json()["task_id"]) == (200, task_id)
        again = await desk.post(f"{path}/complete", json=body)
        assert again.status_code == 404
        assert (await call).json()["status"] == "success"
        shown = (await ann.get(f"/admin/desktop-tasks/{task_id}")).json()
        assert (shown["status"], shown["operator"]) == ("succeeded", "desk-1")
        assert "claim_id" not in shown


async def test_a_claim_is_worth_nothing_to_another_token(
    client: httpx2.AsyncClient, serving: Running, shop: dict[str, Any]
):
    async with (
        user(serving, "deb", "desktop") as desk,
        user(serving, "eve", "desktop") as eve,
        user(serving, "ann", "admin") as ann,
    ):
        call = asyncio.create_task(send(ann))
        task_id = await polled(desk, serving)
        claimed = (await desk.post("/desktop/claim", json=WHO)).json()["task"]
        body = {"claim_id": claimed["claim_id"]}
        for step in ("start", "heartbeat", "complete", "release"):
            answer = await eve.post(f"/desktop/tasks/{task_id}/{step}", json=body)
            assert answer.status_code == 404
        released = await desk.post(f"/desktop/tasks/{task_id}/release", json=body)
        assert released.status_code == 200
        cancelled = await ann.post(f"/admin/desktop-tasks/{task_id}/cancel")
        assert cancelled.json()["status"] == "cancelled"
        assert (await call).json()["status"] == "error"
        twice = await ann.post(f"/admin/desktop-tasks/{task_id}/cancel")
        assert twice.status_code == 409


async def test_an_operator_that_fails_ends_the_call(
    client: httpx2.AsyncClient, serving: Running, shop: dict[str, Any]
):
    async with user(serving, "deb", "desktop") as desk, user(serving, "ann", "admin") as ann:
        call = asyncio.create_task(send(ann))
        task_id = await polled(desk, serving)
        claimed = (await desk.post("/desktop/claim", json=WHO)).json()["task"]
        body = {"claim_id": claimed["claim_id"], "code": "window_not_found", "detail": "None"}
        unknown = await desk.post(
            f"/desktop/tasks/{task_id}/fail", json={**body, "code": "whatever"}
        )
        assert unknown.status_code == 422
        assert (await desk.post(f"/desktop/tasks/{task_id}/fail", json=body)).status_code == 200
        assert (await call).json()["code"] == "window_not_found"
        listed = (await ann.get("/admin/desktop-tasks", params={"status": "failed"})).json()
        assert [item["code"] for item in listed["tasks"]] == ["window_not_found"]
        other = await ann.get("/admin/desktop-tasks", params={"status": "queued"})
        assert other.json() == {"tasks": [], "next_before": None}


async def test_an_operator_asks_only_so_often(serving: Running):
    rates: OperatorRates = serving.app.state.operator_rates
    secret, token = await serving.service.tokens.create("deb", ["desktop"])
    rates.spend(token.id, 0.001, 2)
    async with holding(serving, secret) as desk:
        statuses = [(await desk.post("/desktop/poll", json=WHO)).status_code for _ in range(2)]
    async with user(serving, "eve", "desktop") as other:
        assert (await other.post("/desktop/poll", json=WHO)).status_code == 200
    assert statuses == [200, 429]


async def test_a_channel_is_made_changed_and_forgotten(
    client: httpx2.AsyncClient, serving: Running, shop: dict[str, Any]
):
    path = "/admin/channels/shop"
    assert (await client.get(path)).json() == shop
    changed = await client.patch(path, json={"enabled": False}, headers={"If-Match": '"1"'})
    assert (changed.json()["enabled"], changed.headers["etag"]) == (False, '"2"')
    late = await client.patch(path, json={"name": "X"}, headers={"If-Match": '"1"'})
    assert (late.status_code, (await problem(late))["code"]) == (412, "version_mismatch")
    twice = await client.post("/admin/channels", json=NEW)
    assert (await problem(twice))["code"] == "already_exists"
    listed = (await client.get("/admin/channels")).json()
    assert (listed["total"], listed["channels"][0]["version"]) == (1, 2)
    stale = await client.delete(path, headers={"If-Match": '"1"'})
    assert stale.status_code == 412
    assert (await client.delete(path)).json()["name"] == "Shop"
    assert (await client.get(path)).status_code == 404
    audit = (await client.get("/admin/audit", params={"kind": "governance.channel"})).json()
    assert [entry["subject"] for entry in audit["rows"]] == ["shop", "shop", "shop"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "fax"},
        {"id": "a/b"},
        {"name": " "},
        {"config": {"weixinReply": {"enabled": "yes"}}},
        {"config": {"weixinReply": {"targets": ["a\u200b"]}}},
        {"config": {"shell": "rm"}},
        {"token": "x"},
    ],
)
async def test_a_channel_that_does_not_fit_is_refused(
    client: httpx2.AsyncClient, wrong: dict[str, Any]
):
    answer = await client.post("/admin/channels", json={**NEW, **wrong})
    assert (answer.status_code, (await problem(answer))["code"]) == (422, "validation_failed")
    assert (await client.get("/admin/channels")).json()["total"] == 0


async def test_what_is_shown_of_a_text_hides_nothing(
    client: httpx2.AsyncClient, serving: Running, shop: dict[str, Any]
):
    changed = {"config": config(watermark="zero-width")}
    await client.patch("/admin/channels/shop", json=changed)
    async with user(serving, "deb", "desktop") as desk, user(serving, "ann", "admin") as ann:
        call = asyncio.create_task(send(ann))
        task_id = await polled(desk, serving)
        shown = (await ann.get(f"/admin/desktop-tasks/{task_id}")).json()
        assert shown["text"].startswith("你好\\u2063\\u200b") or "\\u2060" in shown["text"]
        await ann.post(f"/admin/desktop-tasks/{task_id}/cancel")
        await call


async def test_connected_operators_are_listed(client: httpx2.AsyncClient, serving: Running):
    desk = serving.service.channels.operators
    somebody = Operator(user_id="deb", key="tok_1", name="desk-1", apps=WEIXIN)
    with desk.connection(somebody, "con_1", "127.0.0.1"):
        [shown] = (await client.get("/admin/desktop-operators")).json()["operators"]
    assert (shown["operator"], shown["user_id"], shown["apps"]) == ("desk-1", "deb", APPS)
    assert (await client.get("/admin/desktop-operators")).json() == {"operators": []}
