"""Telegram: messages with buttons, their end, and answers that are late, forged or repeated."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.channels.notifications.telegram import MAX_TEXT, Telegram, TelegramBot, TelegramListener
from app.channels.notifications.transport import (
    DeliveryFailed,
    DeliveryUncertain,
    NotificationAction,
)
from app.operations.web.client import Web
from tests.channels.notifications.bot_api import TOKEN, BotApi
from tests.channels.notifications.chat_lab import (
    ACTIONS,
    FAST,
    Reply,
    ScriptedAnswers,
    answering,
    listening,
    message,
    running,
    until,
    web_access,
)

ANN, EVE = 7, 8


class Offsets:
    """Keeps the offset in memory."""

    def __init__(self) -> None:
        self.saved: int | None = None

    async def load(self) -> int | None:
        return self.saved

    async def save(self, offset: int) -> None:
        self.saved = offset


class World:
    """Telegram, the bot, and what answers do."""

    def __init__(self, api: BotApi, web: Web, answers: ScriptedAnswers) -> None:
        self.api = api
        self.answers = answers
        self.offsets = Offsets()
        self.bot = TelegramBot(lambda: web, SecretStr(TOKEN), api.service.url)
        self.transport = Telegram(self.bot)

    def listener(self) -> TelegramListener:
        return TelegramListener(self.bot, self.answers, self.offsets, backoff=FAST, poll_s=1)

    async def link(self, sender: int = ANN, user_id: str = "ann") -> None:
        made = await self.answers.links.create_code(user_id, "tok_1")
        assert await self.answers.links.redeem("telegram", str(sender), made.text) is not None


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        api = BotApi()
        await stack.enter_async_context(running(api.service))
        web = await stack.enter_async_context(web_access())
        answers = await stack.enter_async_context(answering(tmp_path))
        yield World(api, web, answers)


async def test_a_message_has_its_text_link_and_buttons(world: World):
    reference = await world.transport.send("7", message(actions=ACTIONS))

    (sent,) = world.api.of("sendMessage")
    assert sent["chat_id"] == "7"
    assert sent["text"] == f"{message().subject}\n\n{message().body}\n\n{message().link}"
    assert "parse_mode" not in sent
    assert sent["reply_markup"]["inline_keyboard"] == [
        [
            {"text": "Approve once", "callback_data": "a" * 43},
            {"text": "Decline", "callback_data": "d" * 43},
        ]
    ]
    assert reference == "101"


async def test_the_end_changes_the_message_and_takes_its_buttons(world: World):
    reference = await world.transport.send("7", message(actions=ACTIONS))
    closed = message(event="closed", subject="Approved by ann", outcome="approved")
    await world.transport.update("7", reference, closed)
    await world.transport.update("7", None, closed)

    (edited,) = world.api.of("editMessageText")
    assert edited["message_id"] == 101
    assert edited["text"].startswith("Approved by ann")
    assert edited["reply_markup"] == {"inline_keyboard": []}


async def test_a_long_message_keeps_its_link(world: World):
    await world.transport.send("7", message(body="x" * 9000))

    (text,) = await world.api.texts()
    assert len(text) == MAX_TEXT
    assert text.endswith(message().link)


async def test_a_capability_that_does_not_fit_is_not_sent(world: World):
    action = NotificationAction("Approve", "allow", "x" * 65)

    with pytest.raises(DeliveryFailed) as failed:
        await world.transport.send("7", message(actions=(action,)))
    assert failed.value.permanent
    assert world.api.calls == []


@pytest.mark.parametrize(
    ("reply", "permanent", "gone", "wait"),
    [
        (BotApi.refusal(429, "Too Many Requests", retry_after=17), False, False, 17.0),
        (BotApi.refusal(500, "Internal Server Error"), False, False, None),
        (BotApi.refusal(403, "Forbidden: bot was blocked by the user"), True, True, None),
        (BotApi.refusal(400, "Bad Request: chat not found"), True, True, None),
        (BotApi.refusal(400, "Bad Request: message is too long"), True, False, None),
        (Reply(502, b"<html>"), False, False, None),
    ],
)
async def test_a_refusal_ends_or_waits(
    world: World, reply: Reply, *, permanent: bool, gone: bool, wait: float | None
):
    world.api.refusals["sendMessage"] = [reply]

    with pytest.raises(DeliveryFailed) as failed:
        await world.transport.send("7", message())
    error = failed.value
    assert (error.permanent, error.gone, error.retry_after_s) == (permanent, gone, wait)
    assert TOKEN not in str(error)


async def test_a_lost_response_is_uncertain_and_names_no_token(world: World):
    world.api.refusals["sendMessage"] = [Reply(sent=False)]

    with pytest.raises(DeliveryUncertain) as failed:
        await world.transport.send("7", message())
    assert TOKEN not in repr(failed.value)
    assert TOKEN not in repr(world.bot)


@pytest.mark.parametrize("why", ["message is not modified: …", "message to edit not found"])
async def test_a_message_that_needs_no_change_is_changed(world: World, why: str):
    world.api.refusals["editMessageText"] = [BotApi.refusal(400, f"Bad Request: {why}")]
    await world.transport.update("7", "101", message(event="closed"))

    world.api.refusals["editMessageText"] = [BotApi.refusal(400, "Bad Request: other")]
    with pytest.raises(DeliveryFailed):
        await world.transport.update("7", "101", message(event="closed"))


async def test_a_linked_person_answers_by_a_button(world: World):
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved")
    listener = world.listener()

    async with listening(listener.run()):
        await world.api.press(ANN, "a" * 43)
        assert await world.api.shown() == ["Done: approved"]
        assert listener.state.connected
    assert world.answers.given == ["approved"]
    assert not listener.state.connected


async def test_others_late_and_repeated_presses_change_nothing(world: World):
    await world.link()
    await world.link(EVE, "eve")
    world.answers.issue("a" * 43, "ann", "approved")
    world.answers.issue("b" * 43, "ann", "approved later")

    async with listening(world.listener().run()):
        await world.api.press(99, "a" * 43, 1)
        await world.api.press(EVE, "a" * 43, 2)
        await world.api.press(ANN, "forged", 3)
        await world.api.press(ANN, "a" * 43, 4)
        await world.api.press(ANN, "a" * 43, 5)
        assert sorted(await world.api.shown(5)) == [
            "Done: approved",
            "Link this account first",
            "Unknown button",
            "Unknown button",
            "Unknown button",
        ]
        world.answers.clock.advance(600)
        await world.api.press(ANN, "b" * 43, 6)
        assert (await world.api.shown(6))[-1] == "Too late"
    assert world.answers.given == ["approved"]


async def test_updates_are_handled_once_over_a_restart(world: World):
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved")
    async with listening(world.listener().run()):
        await world.api.press(ANN, "a" * 43, 41)
        await until(lambda: world.offsets.saved == 42 and not world.api.updates)
    async with listening(world.listener().run()):
        await world.api.say(ANN, "hello", 42)
        await until(lambda: world.offsets.saved == 43)

    assert len(world.api.of("answerCallbackQuery")) == 1


@pytest.mark.parametrize("text", ["/link {}", "link {}", "/start {}"])
async def test_a_code_links_the_account_that_sends_it(world: World, text: str):
    made = await world.answers.links.create_code("ann", "tok_1")

    async with listening(world.listener().run()):
        await world.api.say(ANN, text.format(made.text), 1)
        await world.api.say(EVE, text.format(made.text), 2)
        assert await world.api.texts(2) == ["Linked to ann", "This code is not valid"]
    link = await world.answers.links.find("telegram", str(ANN))
    assert link is not None
    assert (link.user_id, link.token_id) == ("ann", "tok_1")
    assert await world.answers.links.find("telegram", str(EVE)) is None


async def test_a_code_in_a_group_is_not_used(world: World):
    made = await world.answers.links.create_code("ann", None)

    async with listening(world.listener().run()):
        await world.api.say(ANN, f"/link {made.text}", 1, "group")
        assert await world.api.texts() == ["Send the code in a private chat with this bot."]
    assert await world.answers.links.find("telegram", str(ANN)) is None


async def test_the_listener_connects_again_and_says_why_it_had_to(
    world: World, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved")
    world.api.refusals["getUpdates"] = [
        Reply(sent=False),
        BotApi.refusal(409, "Conflict: terminated by other getUpdates request"),
        BotApi.refusal(401, "Unauthorized"),
        Reply(500, b"<html>"),
        Reply.json({"ok": True, "result": [{"no": "id"}]}),
    ]

    listener = world.listener()
    async with listening(listener.run()):
        await world.api.press(ANN, "a" * 43)
        assert await world.api.shown() == ["Done: approved"]
        assert listener.state.error is None
    texts = " ".join(record.getMessage() for record in caplog.records)
    assert "another program receives the answers" in texts
    assert "does not accept the bot token" in texts
    assert "unexpected KeyError" in texts
    assert TOKEN not in texts


async def test_a_listener_waits_as_long_as_it_is_asked_to(world: World):
    world.api.refusals["getUpdates"] = [BotApi.refusal(429, "Too Many Requests", retry_after=3600)]
    listener = world.listener()

    async with listening(listener.run()):
        await until(lambda: listener.state.error is not None)
        assert listener.state.error == "Telegram limits the rate of requests"
        assert len(world.api.of("getUpdates")) == 1


async def test_an_answer_that_fails_is_shown_without_its_error(world: World):
    world.answers.fails = True
    listener = world.listener()

    async with listening(listener.run()):
        await world.api.press(ANN, "a" * 43)
        (text,) = await world.api.shown()
        assert "secret" not in text
        await until(lambda: world.offsets.saved == 2)
        assert "secret" not in str(listener.state)
