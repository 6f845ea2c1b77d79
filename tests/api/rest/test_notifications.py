"""Channels and subscriptions over REST, and what the running service sends through them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.people import holding, user
from tests.api.rest.client import problem
from tests.channels.notifications.provider import Arrival, Provider, Reply, provider
from tests.support.service import Running, settings_for

BOSS = "operator-secret-0123456789"
KEY = "whsec_" + base64.b64encode(b"a key that nobody may see, of 40 letters").decode()
PATH = "/hooks/secret-path-9f8e7d6c"
RISKY = {"name": "bash", "arguments": {"command": "rm -rf build"}}
CHANNELS = "/admin/notification-channels"
OWN = "/me/notification-subscriptions"
SHARED = "/admin/notification-subscriptions"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path, anthropic_api_key=None, token=BOSS, public_url="https://gate.test/tollgate/"
    )


@pytest.fixture
async def peer() -> AsyncIterator[Provider]:
    async with provider() as running:
        yield running


@asynccontextmanager
async def boss(serving: Running) -> AsyncIterator[httpx2.AsyncClient]:
    async with holding(serving, BOSS) as client:
        yield client


async def webhook(client: httpx2.AsyncClient, peer: Provider, **fields: Any) -> dict[str, Any]:
    secrets = {"url": peer.url + PATH, "key": KEY}
    body = {"name": "hook", "kind": "webhook", "secrets": secrets, **fields}
    answer = await client.post(CHANNELS, json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def subscribed(client: httpx2.AsyncClient, path: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post(path, json=fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def ask(serving: Running, owner: str, secret: str, call: dict[str, Any] = RISKY) -> str:
    """Make a call that waits for a person; return its session."""
    session = serving.session(user_id=owner)
    async with serving.connect(hello={"auth": {"token": secret}}) as chat:
        acked = await chat.command(type="tool_call", session_id=session.id, **call)
        assert acked["type"] == "ack", acked
    return session.id


async def decline(client: httpx2.AsyncClient, confirmation_id: str) -> None:
    shown = (await client.get(f"/confirmations/{confirmation_id}")).json()
    body = {"option_id": "decline", "digest": shown["request"]["digest"]}
    answer = await client.post(f"/confirmations/{confirmation_id}", json=body)
    assert answer.status_code == 200, answer.text


def noted(arrivals: list[Arrival]) -> list[tuple[str, str | None]]:
    return [(one.json["data"]["event"], one.json["data"]["outcome"]) for one in arrivals]


# -- what is sent -------------------------------------------------------------------------


@pytest.mark.requirement("APR-1")
async def test_a_request_in_a_session_that_nobody_has_open_reaches_its_owner(
    serving: Running, peer: Provider
):
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call", "approve"])
    async with boss(serving) as admin, holding(serving, secret) as ann:
        channel = await webhook(admin, peer, content="full")
        await subscribed(ann, OWN, channel_id=channel["id"], label="Hook")
        await ask(serving, "ann", secret)
        (opened,) = await peer.until(1)
        data = opened.json["data"]
        assert (data["event"], data["kind"], data["outcome"]) == ("opened", "confirmation", None)
        assert data["link"] == f"https://gate.test/tollgate/approvals/{data['item_id']}"
        assert "Command:\nrm -rf build" in data["body"]
        await decline(ann, data["item_id"])
        _, closed = await peer.until(2)
    assert closed.json["data"]["item_id"] == data["item_id"]
    assert closed.json["data"]["subject"] == "Declined by ann: bash: rm -rf build"
    assert opened.headers["webhook-id"] != closed.headers["webhook-id"]


async def test_a_question_is_sent_too(serving: Running, peer: Provider):
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call"])
    async with boss(serving) as admin, holding(serving, secret) as ann:
        channel = await webhook(admin, peer)
        await subscribed(ann, OWN, channel_id=channel["id"])
        question = {"name": "ask_user", "arguments": {"question": "Which?"}}
        await ask(serving, "ann", secret, question)
        (opened,) = await peer.until(1)
    assert opened.json["data"]["kind"] == "question"
    assert opened.json["data"]["subject"] == "Answer needed: Which?"


async def test_only_who_may_decide_is_notified(serving: Running, peer: Provider):
    """The administrators' subscription is sent last: what others get has been sent by then."""
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call", "approve"])
    async with (
        boss(serving) as admin,
        user(serving, "bob", "chat", "approve") as bob,
        user(serving, "ann", "chat") as reader,
        user(serving, "ann", "approve", agents=["other"]) as elsewhere,
    ):
        channel = await webhook(admin, peer)
        for client in (bob, reader):
            await subscribed(client, OWN, channel_id=channel["id"])
            again = await client.post(OWN, json={"channel_id": channel["id"]})
            assert (await problem(again))["code"] == "already_exists"
        # Another token of ann takes the address over.
        await subscribed(elsewhere, OWN, channel_id=channel["id"])
        assert len((await reader.get(OWN)).json()["subscriptions"]) == 1
        await subscribed(admin, SHARED, channel_id=channel["id"], audience="all")
        await subscribed(admin, SHARED, channel_id=channel["id"], audience="group:nobody")
        await ask(serving, "ann", secret)
        (opened,) = await peer.until(1)
        await decline(admin, opened.json["data"]["item_id"])
        await peer.until(2)
    assert noted(peer.arrived) == [("opened", None), ("closed", "declined")]
    assert peer.arrived[1].json["data"]["subject"].startswith("Declined by admin")


async def test_a_revoked_token_ends_its_subscriptions(serving: Running, peer: Provider):
    tokens = serving.service.tokens
    secret, _ = await tokens.create("ann", ["chat", "tools:call", "approve"])
    phone, token = await tokens.create("ann", ["approve"])
    async with boss(serving) as admin, holding(serving, phone) as ann:
        channel = await webhook(admin, peer)
        made = await subscribed(ann, OWN, channel_id=channel["id"])
        assert made["is_active"]
        await tokens.revoke(token.id)
        await subscribed(admin, SHARED, channel_id=channel["id"], audience="all")
        await ask(serving, "ann", secret)
        await peer.until(1)
        listed = (await admin.get(SHARED)).json()["subscriptions"]
        opened = peer.arrived[0].json["data"]
        await decline(admin, opened["item_id"])
        await peer.until(2)
    assert [item["is_active"] for item in listed] == [False, True]
    assert noted(peer.arrived) == [("opened", None), ("closed", "declined")]


@pytest.mark.requirement("APR-3")
async def test_opening_the_link_decides_nothing(serving: Running, peer: Provider):
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call", "approve"])
    async with boss(serving) as admin, holding(serving, secret) as ann:
        channel = await webhook(admin, peer)
        await subscribed(ann, OWN, channel_id=channel["id"])
        await ask(serving, "ann", secret)
        (opened,) = await peer.until(1)
        item_id = opened.json["data"]["item_id"]
        path = opened.json["data"]["link"].removeprefix("https://gate.test/tollgate")
        async with httpx2.AsyncClient(base_url=serving.url) as scanner:
            for method in ("GET", "HEAD", "POST", "OPTIONS"):
                await scanner.request(method, path)
        shown = (await ann.get(f"/confirmations/{item_id}")).json()
    assert shown["state"] == "pending"


# -- channels -----------------------------------------------------------------------------


async def test_a_channel_is_created_changed_tested_and_deleted(serving: Running, peer: Provider):
    async with boss(serving) as admin:
        made = await webhook(admin, peer)
        path = f"{CHANNELS}/{made['id']}"
        assert (made["origin"], made["secret_names"]) == (peer.url, ["key", "url"])
        assert (made["content"], made["buttons"]) == ("summary", "none")
        tested = (await admin.post(f"{path}/test", json={})).json()
        assert tested == {"delivered": True, "error": None}
        assert peer.arrived[0].json["data"]["subject"] == "Test message from Tollgate"
        peer.usual = Reply("503 Busy")
        tested = (await admin.post(f"{path}/test", json={})).json()
        assert tested == {"delivered": False, "error": f"{peer.url} answered 503"}
        changed = await admin.patch(path, json={"content": "none"}, headers={"If-Match": '"1"'})
        assert (changed.json()["content"], changed.headers["etag"]) == ("none", '"2"')
        late = await admin.patch(path, json={"enabled": False}, headers={"If-Match": '"1"'})
        assert (await problem(late))["code"] == "version_mismatch"
        await subscribed(admin, SHARED, channel_id=made["id"], audience="all")
        assert (await admin.delete(path)).json()["id"] == made["id"]
        left = (await admin.get(CHANNELS)).json()["channels"]
        assert [channel["id"] for channel in left] == ["web-push"]
        assert (await admin.get(SHARED)).json()["total"] == 0
        listed = (await admin.get("/admin/audit")).json()["rows"]
    by_people = [item for item in listed if item["actor"] != "system"]
    kinds = [item["kind"] for item in by_people]
    assert kinds.count("governance.notification_channel") == 3
    assert kinds.count("governance.notification_subscription") == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "pigeon"}, "kind"),
        ({"settings": {"colour": "red"}}, "settings.colour"),
        ({"secrets": {"url": "ftp://x", "key": KEY}}, "secrets.url"),
        ({"secrets": {"url": "http://127.0.0.1/x", "key": "whsec_c2hvcnQ="}}, "secrets.key"),
        ({"secrets": {"url": "http://127.0.0.1/x", "key": KEY, "more": "x"}}, "secrets.more"),
        ({"buttons": "low"}, "buttons"),
        ({"buttons": "high"}, "body.buttons"),
        ({"name": "Not A Name"}, "body.name"),
    ],
)
async def test_wrong_channels_are_refused_by_field(
    serving: Running, fields: dict[str, Any], field: str
):
    secrets = {"url": "http://127.0.0.1/x", "key": KEY}
    body = {"name": "hook", "kind": "webhook", "secrets": secrets, **fields}
    async with boss(serving) as admin:
        refused = await problem(await admin.post(CHANNELS, json=body))
    assert refused["status"] == 422
    details = refused["details"]
    assert field in {details.get("field"), *(one["path"] for one in details.get("errors", []))}


async def test_stored_secrets_are_not_sent_to_another_host(serving: Running, peer: Provider):
    async with boss(serving) as admin:
        made = await admin.post(
            CHANNELS,
            json={
                "name": "push",
                "kind": "ntfy",
                "settings": {"server": peer.url},
                "secrets": {"token": "tk_secret"},
            },
        )
        path = f"{CHANNELS}/{made.json()['id']}"
        moved = {"settings": {"server": "http://127.0.0.1:9"}}
        refused = await problem(await admin.patch(path, json=moved))
        again = await admin.patch(path, json={**moved, "secrets": {"token": "tk_other"}})
    assert refused["details"]["field"] == "secrets"
    assert again.status_code == 200


async def test_secrets_are_nowhere(
    serving: Running, peer: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call", "approve"])
    peer.usual = Reply("500 Oops", body=PATH.encode())
    topic = "a-topic-that-is-secret-5d4c3b"
    texts = []
    async with boss(serving) as admin, holding(serving, secret) as ann:
        channel = await webhook(admin, peer)
        push = {"name": "push", "kind": "ntfy", "settings": {"server": peer.url}}
        other = (await admin.post(CHANNELS, json=push)).json()
        await subscribed(ann, OWN, channel_id=channel["id"])
        await subscribed(ann, OWN, channel_id=other["id"], address=topic)
        await ask(serving, "ann", secret)
        await peer.until(2)
        await serving.service.notifications.sender.delivered()
        answers = [
            *[await admin.get(path) for path in (CHANNELS, SHARED, "/admin/audit", "/metrics")],
            await admin.get("/admin/doctor"),
            *[await ann.get(path) for path in (OWN, "/me/notification-channels")],
            await admin.post(f"{CHANNELS}/{channel['id']}/test", json={}),
        ]
        texts = [answer.text for answer in answers]
        assert {answer.status_code for answer in answers} == {200}
    files = sorted(tmp_path.glob("tollgate.db*"))  # noqa: ASYNC240 - a folder of the test
    dump = b"".join(file.read_bytes() for file in files).decode("latin-1")
    for hidden in (KEY, PATH.rpartition("/")[2], topic):
        assert hidden not in dump
        assert hidden not in caplog.text
        assert not [text for text in texts if hidden in text]


# -- subscriptions ------------------------------------------------------------------------


async def test_everyone_sees_and_ends_only_their_own_subscriptions(
    serving: Running, peer: Provider
):
    async with (
        boss(serving) as admin,
        user(serving, "ann", "approve") as ann,
        user(serving, "bob", "chat") as bob,
        user(serving, "eve", "tools:call") as eve,
    ):
        channel = await webhook(admin, peer)
        mine = await subscribed(ann, OWN, channel_id=channel["id"], label="Mine")
        assert (mine["audience"], mine["created_by"]) == ("user:ann", "ann")
        assert (await bob.get(OWN)).json() == {"subscriptions": []}
        for client, path in ((bob, f"{OWN}/{mine['id']}"), (ann, f"{OWN}/nsb_0")):
            assert (await problem(await client.delete(path)))["code"] == "not_found"
        for answer in (
            await eve.get(OWN),
            await eve.post(OWN, json={"channel_id": channel["id"]}),
            await ann.get(SHARED),
            await ann.post(SHARED, json={"channel_id": channel["id"], "audience": "all"}),
            await ann.get(CHANNELS),
        ):
            assert (await problem(answer))["code"] == "forbidden"
        others = {"channel_id": channel["id"], "audience": "user:ann"}
        assert (await problem(await admin.post(SHARED, json=others)))["status"] == 422
        assert (await ann.delete(f"{OWN}/{mine['id']}")).json()["id"] == mine["id"]
        assert (await ann.get(OWN)).json() == {"subscriptions": []}
        listed = (await bob.get("/me/notification-channels")).json()["channels"]
        offered = [channel for channel in listed if channel["kind"] != "web_push"]
        assert len(listed) == len(offered) + 1
    assert offered == [
        {
            "id": channel["id"],
            "name": "hook",
            "kind": "webhook",
            "content": "summary",
            "needs_address": False,
        }
    ]


async def test_wrong_addresses_and_too_many_subscriptions_are_refused(
    serving: Running, peer: Provider
):
    async with boss(serving) as admin, user(serving, "ann", "approve") as ann:
        push = {"name": "push", "kind": "ntfy", "settings": {"server": peer.url}}
        channel = (await admin.post(CHANNELS, json=push)).json()
        wrong = {"channel_id": channel["id"], "address": "no/topic"}
        refused = await problem(await ann.post(OWN, json=wrong))
        assert refused["details"]["field"] == "address"
        for number in range(20):
            made = await subscribed(ann, OWN, channel_id=channel["id"], address=f"topic-{number}")
            assert made["address_hint"] == "to…"
        more = {"channel_id": channel["id"], "address": "topic-21"}
        refused = await problem(await ann.post(OWN, json=more))
        assert "delete one first" in refused["detail"]
        page = (await admin.get(SHARED, params={"limit": 15})).json()
        rest = (await admin.get(SHARED, params={"after": page["next_after"]})).json()
    assert (len(page["subscriptions"]), len(rest["subscriptions"])) == (15, 5)


async def test_a_failing_channel_is_seen_by_the_operator(serving: Running, peer: Provider):
    secret, _ = await serving.service.tokens.create("ann", ["chat", "tools:call", "approve"])
    peer.usual = Reply("503 Busy")
    async with boss(serving) as admin, holding(serving, secret) as ann:
        channel = await webhook(admin, peer)
        await subscribed(ann, OWN, channel_id=channel["id"])
        await ask(serving, "ann", secret)
        await peer.until(1)
        await serving.service.notifications.sender.delivered()
        shown = (await admin.get(f"{CHANNELS}/{channel['id']}")).json()["health"]
        checks = (await admin.get("/admin/doctor")).json()["checks"]
        metrics = (await admin.get("/metrics")).text
    assert (shown["state"], shown["pending"]) == ("failing", 1)
    assert shown["error"] == f"{peer.url} answered 503"
    (check,) = [one for one in checks if one["code"] == "notification_channel"]
    assert check["name"] == "notification channel hook"
    assert check["found"].endswith("answered 503")
    assert 'tollgate_notifications_total{kind="webhook",state="retried"} 1.0' in metrics
    assert "tollgate_notification_pending_age_seconds" in metrics
