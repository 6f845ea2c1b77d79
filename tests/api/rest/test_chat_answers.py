"""Requests are sent to a chat, answered there by the linked user, and by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.api.people import WORK, user
from tests.api.rest.test_confirmations import ask
from tests.channels.notifications.bot_api import TOKEN, BotApi
from tests.channels.notifications.chat_lab import PATIENCE_S, running
from tests.support.service import Running

pytestmark = pytest.mark.requirement("APR-5")

ANN, BOB, EVE = 41, 42, 43


@dataclass
class Chats:
    """A service with a Telegram channel, and ann and bob with linked accounts."""

    serving: Running
    api: BotApi
    ann: httpx2.AsyncClient
    root: httpx2.AsyncClient
    channel_id: str

    async def link(self, client: httpx2.AsyncClient, sender: int, number: int) -> None:
        code = (await client.post("/me/chat-links/code")).json()["link_code"]
        before = len(self.api.of("sendMessage"))
        await self.api.say(sender, f"/link {code}", number)
        assert "Linked to" in (await self.api.texts(before + 1))[-1]

    async def link_nothing(self) -> None:
        """End the poll that is under way."""
        await self.api.say(EVE, "hello", 90)

    async def asked(self) -> tuple[dict[str, Any], dict[str, str]]:
        """A request in a session of ann, and the capabilities of the buttons that she got."""
        before = len(self.api.of("sendMessage"))
        asked = await ask(self.serving, self.ann)
        await self.api.texts(before + 1)
        message = self.api.of("sendMessage")[before]
        assert message["chat_id"] == str(ANN)
        buttons = [
            button
            for row in message["reply_markup"]["inline_keyboard"]
            for button in row
            if "callback_data" in button
        ]
        return asked, {button["text"]: button["callback_data"] for button in buttons}


@pytest.fixture
async def chats(serving: Running) -> AsyncIterator[Chats]:
    api = BotApi()
    async with (
        running(api.service) as server,
        user(serving, "ann", *WORK) as ann,
        user(serving, "bob", *WORK) as bob,
        user(serving, "root", "admin") as root,
    ):
        made = await root.post(
            "/admin/notification-channels",
            json={
                "name": "bot",
                "kind": "telegram",
                "settings": {"api": server.url},
                "secrets": {"token": TOKEN},
                "buttons": "medium",
            },
        )
        assert made.status_code == 201, made.text
        made_chats = Chats(serving, api, ann, root, made.json()["id"])
        await made_chats.link(ann, ANN, 1)
        await made_chats.link(bob, BOB, 2)
        yield made_chats


async def state(chats: Chats, asked: dict[str, Any]) -> tuple[str, str | None]:
    found = (await chats.root.get(f"/confirmations/{asked['confirmation_id']}")).json()
    return found["state"], found["by"]


async def test_a_button_answers_once_and_the_message_follows(chats: Chats):
    asked, buttons = await chats.asked()
    await chats.api.press(ANN, buttons["Approve once"], 11)
    assert (await chats.api.shown())[-1] == "Approved."
    assert await state(chats, asked) == ("approved", "ann")
    await chats.api.press(ANN, buttons["Approve once"], 12)
    assert "used already" in (await chats.api.shown(2))[-1]
    await chats.api.press(ANN, buttons["Decline"], 13)
    assert "Already approved by ann" in (await chats.api.shown(3))[-1]


async def test_nobody_else_presses_the_button(chats: Chats):
    asked, buttons = await chats.asked()
    await chats.api.press(BOB, buttons["Approve once"], 11)
    assert "issued to another user" in (await chats.api.shown())[-1]
    await chats.api.press(EVE, buttons["Approve once"], 12)
    assert "not linked" in (await chats.api.shown(2))[-1]
    await chats.api.press(ANN, "f" * 43, 13)
    assert "unknown" in (await chats.api.shown(3))[-1]
    assert await state(chats, asked) == ("pending", None)
    await chats.api.press(ANN, buttons["Decline"], 14)
    assert (await chats.api.shown(4))[-1] == "Declined."
    assert await state(chats, asked) == ("declined", "ann")


async def test_a_revoked_token_answers_nothing(chats: Chats):
    asked, buttons = await chats.asked()
    tokens = (await chats.root.get("/admin/tokens")).json()["tokens"]
    (token,) = [token for token in tokens if token["name"] == "ann"]
    await chats.root.delete(f"/admin/tokens/{token['id']}")
    await chats.api.press(ANN, buttons["Approve once"], 11)
    assert "access has ended" in (await chats.api.shown())[-1]
    assert await state(chats, asked) == ("pending", None)


async def test_a_channel_that_offers_no_answers_any_more_takes_none(chats: Chats):
    asked, buttons = await chats.asked()
    path = f"/admin/notification-channels/{chats.channel_id}"
    assert (await chats.root.patch(path, json={"buttons": "none"})).status_code == 200
    await chats.api.press(ANN, buttons["Approve once"], 11)
    assert "cannot be answered here" in (await chats.api.shown())[-1]
    assert await state(chats, asked) == ("pending", None)


async def test_an_answer_elsewhere_edits_the_message(chats: Chats):
    asked, _ = await chats.asked()
    body = {"option_id": "decline", "digest": asked["digest"]}
    await chats.ann.post(f"/confirmations/{asked['confirmation_id']}", json=body)
    edited = await chats.api.edited()
    assert edited["chat_id"] == str(ANN)
    assert "declined" in edited["text"].lower()
    assert "callback_data" not in str(edited)


async def test_a_channel_whose_answers_do_not_arrive_is_shown(chats: Chats):
    chats.api.refusals["getUpdates"] = [BotApi.refusal(401, "Unauthorized")] * 1000
    await chats.link_nothing()
    path = f"/admin/notification-channels/{chats.channel_id}"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            health = (await chats.root.get(path)).json()["health"]
            if health["state"] == "failing":
                break
    assert "answers are not received" in health["error"]
    assert TOKEN not in str(health)
