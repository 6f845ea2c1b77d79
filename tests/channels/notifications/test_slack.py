"""Slack: messages that are sent once, their end, and answers over Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from pydantic import SecretStr
from websockets.asyncio.server import ServerConnection, serve

from app.channels.notifications.slack import Slack, SlackApp, SlackListener
from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain
from app.operations.web.client import Web
from tests.channels.notifications.chat_lab import (
    ACTIONS,
    FAST,
    Arrived,
    Reply,
    ScriptedAnswers,
    ScriptedService,
    answering,
    listening,
    message,
    running,
    until,
    web_access,
)

BOT, APP = "xoxb-this-is-a-secret", "xapp-this-is-another"
TICKET = "ticket-that-is-secret"
ANN, EVE = "U1", "U2"


class Workspace:
    """Slack's side: channels with messages, and the ends of sockets."""

    def __init__(self) -> None:
        self.service = ScriptedService(self._handle)
        self.socket_url = ""
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.refusals: dict[str, list[Reply]] = {}
        self.sockets: list[ServerConnection] = []
        self.acknowledged: list[str] = []
        self.greets = True

    async def _handle(self, arrived: Arrived) -> Reply:
        method = arrived.path.removeprefix("/")
        token = APP if method == "apps.connections.open" else BOT
        if arrived.headers.get("authorization") != f"Bearer {token}":
            return Reply.json({"ok": False, "error": "invalid_auth"})
        fields = {name: values[0] for name, values in parse_qs(arrived.body.decode()).items()}
        self.calls.append((method, fields))
        return self._answer(method, fields)

    def _answer(self, method: str, fields: dict[str, str]) -> Reply:
        refusal = self.refusals[method].pop(0) if self.refusals.get(method) else None
        if refusal is not None and refusal.sent:
            return refusal
        result = self._done(method, fields)
        return refusal or Reply.json({"ok": True, **result})

    def _done(self, method: str, fields: dict[str, str]) -> dict[str, Any]:
        channel = self.messages.setdefault(fields.get("channel", ""), [])
        if method == "chat.postMessage":
            ts = f"1700000000.{len(channel):06}"
            metadata = orjson.loads(fields["metadata"])
            channel.insert(0, {"ts": ts, "metadata": metadata, **_shown(fields)})
            return {"ts": ts, "channel": fields["channel"]}
        if method == "chat.update":
            (changed,) = (one for one in channel if one["ts"] == fields["ts"])
            changed.update(_shown(fields))
        if method == "conversations.open":
            return {"channel": {"id": f"D-{fields['users']}"}}
        if method == "conversations.history":
            return {"messages": [{"ts": "1.0", "text": "of others"}, *channel]}
        if method == "apps.connections.open":
            return {"url": self.socket_url}
        return {}

    async def accept(self, socket: ServerConnection) -> None:
        """One connection of Socket Mode."""
        self.sockets.append(socket)
        if self.greets:
            await socket.send(orjson.dumps({"type": "hello"}).decode())
        async for raw in socket:
            self.acknowledged.append(orjson.loads(raw)["envelope_id"])

    async def deliver(self, kind: str, payload: dict[str, Any], envelope: str = "e1") -> None:
        """Send an envelope on the newest connection."""
        await until(lambda: bool(self.sockets))
        fields = {"type": kind, "envelope_id": envelope, "payload": payload}
        await self.sockets[-1].send(orjson.dumps(fields).decode())

    async def press(self, user: str, value: str, envelope: str = "e1", **fields: Any) -> None:
        action = {"action_id": "tollgate_allow", "value": value, **fields}
        where = {"channel": {"id": "D-U1"}, "team": {"id": "T1"}, "user": {"id": user}}
        await self.deliver(
            "interactive", {"type": "block_actions", **where, "actions": [action]}, envelope
        )

    def of(self, method: str) -> list[dict[str, str]]:
        return [fields for name, fields in self.calls if name == method]

    async def shown(self, count: int = 1) -> list[str]:
        """Return the texts that were shown to one person alone."""
        await until(lambda: len(self.of("chat.postEphemeral")) >= count)
        return [fields["text"] for fields in self.of("chat.postEphemeral")]


def _shown(fields: dict[str, str]) -> dict[str, Any]:
    return {"text": fields["text"], "blocks": orjson.loads(fields["blocks"])}


class World:
    """A workspace, the app, and what answers do."""

    def __init__(self, workspace: Workspace, web: Web, answers: ScriptedAnswers) -> None:
        self.workspace = workspace
        self.answers = answers
        url = workspace.service.url
        self.app = SlackApp(lambda: web, SecretStr(BOT), SecretStr(APP), url)
        self.transport = Slack(self.app)

    def listener(self) -> SlackListener:
        return SlackListener(self.app, self.answers, backoff=FAST)

    async def link(self, user: str = ANN, user_id: str = "ann") -> None:
        made = await self.answers.links.create_code(user_id, "tok_1")
        assert await self.answers.links.redeem("slack", f"T1:{user}", made.text) is not None


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        workspace = Workspace()
        await stack.enter_async_context(running(workspace.service))
        server = await stack.enter_async_context(serve(workspace.accept, "127.0.0.1", 0))
        port = next(iter(server.sockets)).getsockname()[1]
        workspace.socket_url = f"ws://127.0.0.1:{port}/?ticket={TICKET}"
        web = await stack.enter_async_context(web_access())
        answers = await stack.enter_async_context(answering(tmp_path))
        yield World(workspace, web, answers)


async def test_a_message_has_plain_text_a_link_and_buttons(world: World):
    reference = await world.transport.send("C1", message(actions=ACTIONS))

    (sent,) = world.workspace.messages["C1"]
    *sections, actions = sent["blocks"]
    assert [section["text"]["type"] for section in sections] == ["plain_text", "plain_text"]
    assert sections[0]["text"]["text"] == message().subject
    assert "&lt;build&gt; &amp;" in sent["text"]
    allow, deny, link = actions["elements"]
    assert (allow["value"], allow["style"]) == ("a" * 43, "primary")
    assert (deny["value"], deny["style"]) == ("d" * 43, "danger")
    assert link["url"] == message().link
    assert reference == f"C1:{sent['ts']}"


async def test_a_person_is_written_to_in_the_conversation_with_the_app(world: World):
    for number in range(2):
        reference = await world.transport.send("U7", message(id=f"ntf_{number}"))
        assert (reference or "").startswith("D-U7:")

    assert len(world.workspace.of("conversations.open")) == 1


async def test_a_message_whose_response_was_lost_is_not_sent_twice(world: World):
    world.workspace.refusals["chat.postMessage"] = [Reply(sent=False)]

    with pytest.raises(DeliveryUncertain):
        await world.transport.send("C1", message())
    reference = await world.transport.send("C1", message())
    await world.transport.send("C1", message(id="ntf_2", item_id="cfm_2"))

    newest, first = world.workspace.messages["C1"]
    assert reference == f"C1:{first['ts']}"
    assert newest["metadata"]["event_payload"] == {"id": "ntf_2", "item": "cfm_2"}


@pytest.mark.parametrize("is_known", [True, False])
async def test_the_end_changes_the_message_and_takes_its_buttons(world: World, *, is_known: bool):
    reference = await world.transport.send("C1", message(actions=ACTIONS))
    await world.transport.send("C1", message(id="ntf_2", item_id="cfm_2"))
    closed = message(id="ntf_3", event="closed", subject="Approved by ann", outcome="approved")
    await world.transport.update("C1", reference if is_known else None, closed)

    other, changed = world.workspace.messages["C1"]
    assert changed["blocks"][0]["text"]["text"] == "Approved by ann"
    assert [element.get("value") for element in changed["blocks"][-1]["elements"]] == [None]
    assert other["blocks"][0]["text"]["text"] == message().subject


async def test_a_message_that_was_deleted_needs_no_change(world: World):
    refusals = world.workspace.refusals
    refusals["chat.update"] = [Reply.json({"ok": False, "error": "message_not_found"})]
    await world.transport.update("C1", "C1:1.0", message(event="closed"))
    await world.transport.update("C1", None, message(event="closed"))

    refusals["chat.update"] = [Reply.json({"ok": False, "error": "cant_update_message"})]
    with pytest.raises(DeliveryFailed):
        await world.transport.update("C1", "C1:1.0", message(event="closed"))


@pytest.mark.parametrize(
    ("reply", "permanent", "gone", "wait"),
    [
        (Reply(429, headers={"Retry-After": "9"}), False, False, 9.0),
        (Reply.json({"ok": False, "error": "internal_error"}), False, False, None),
        (Reply.json({"ok": False, "error": "is_archived"}), True, True, None),
        (Reply.json({"ok": False, "error": "token_revoked"}), True, False, None),
        (Reply(503, b"<html>"), False, False, None),
        (Reply(200, b"[]"), False, False, None),
    ],
)
async def test_a_refusal_ends_or_waits(
    world: World, reply: Reply, *, permanent: bool, gone: bool, wait: float | None
):
    world.workspace.refusals["chat.postMessage"] = [reply]

    with pytest.raises(DeliveryFailed) as failed:
        await world.transport.send("C1", message())
    error = failed.value
    assert (error.permanent, error.gone, error.retry_after_s) == (permanent, gone, wait)


async def test_a_linked_person_answers_by_a_button(world: World):
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved <once>")
    listener = world.listener()

    async with listening(listener.run()):
        await world.workspace.press(ANN, "a" * 43)
        assert await world.workspace.shown() == ["Done: approved &lt;once&gt;"]
        assert listener.state.connected
    assert world.workspace.acknowledged == ["e1"]
    assert world.answers.given == ["approved <once>"]
    assert not listener.state.connected


async def test_an_envelope_is_acknowledged_before_its_answer_is_given(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    await world.link()
    held = world.answers.links.find

    async def find(*account: Any) -> Any:
        await until(lambda: world.workspace.acknowledged == ["e1"])
        return await held(*account)

    monkeypatch.setattr(world.answers.links, "find", find)
    async with listening(world.listener().run()):
        await world.workspace.press(ANN, "forged")
        assert await world.workspace.shown() == ["Unknown button"]


async def test_others_late_and_repeated_presses_change_nothing(world: World):
    await world.link()
    await world.link(EVE, "eve")
    world.answers.issue("a" * 43, "ann", "approved")
    world.answers.issue("b" * 43, "ann", "approved later")

    async with listening(world.listener().run()):
        presses = [("U9", "a"), (EVE, "a"), (ANN, "f"), (ANN, "a"), (ANN, "a")]
        shown = []
        for count, (user, value) in enumerate(presses, 1):
            await world.workspace.press(user, value * 43, f"e{count}")
            shown = await world.workspace.shown(count)
        assert shown == [
            "Link this account first",
            *("Unknown button", "Unknown button"),
            *("Done: approved", "Unknown button"),
        ]
        world.answers.clock.advance(600)
        await world.workspace.press(ANN, "b" * 43, "e6")
        assert (await world.workspace.shown(6))[-1] == "Too late"
        await world.workspace.press(ANN, "x", "e7", action_id="tollgate_open")
        await until(lambda: len(world.workspace.acknowledged) == 7)
    assert world.answers.given == ["approved"]


async def test_a_code_links_the_account_that_sends_it(world: World):
    codes = [(await world.answers.links.create_code("ann", "tok_1")).text for _ in range(3)]
    slash = {"team_id": "T1", "channel_id": "C1", "command": "/tollgate"}
    said = {"type": "message", "channel": "D1"}

    async with listening(world.listener().run()):
        deliver = world.workspace.deliver
        await deliver("slash_commands", {**slash, "user_id": ANN, "text": f"link {codes[0]}"})
        assert await world.workspace.shown(1) == ["Linked to ann"]
        event = {**said, "channel_type": "im", "user": EVE, "text": f"link {codes[1]}"}
        await deliver("events_api", {"team_id": "T1", "event": event})
        await world.workspace.shown(2)
        public = {**said, "channel_type": "channel", "user": "U3", "text": f"link {codes[2]}"}
        await deliver("events_api", {"team_id": "T1", "event": public})
        await deliver("slash_commands", {**slash, "user_id": "U4", "text": "help"})
        assert "Send `link`" in (await world.workspace.shown(3))[-1]
    find = world.answers.links.find
    linked = [await find("slack", f"T1:U{number}") is not None for number in (1, 2, 3)]
    assert linked == [True, True, False]


async def test_another_connection_is_opened_when_slack_asks_for_one(world: World):
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved")
    listener = world.listener()

    async with listening(listener.run()):
        await world.workspace.deliver("disconnect", {"reason": "refresh_requested"})
        await until(lambda: len(world.workspace.sockets) == 2)
        await world.workspace.press(ANN, "a" * 43)
        assert await world.workspace.shown() == ["Done: approved"]
        assert listener.state.error is None


async def test_the_listener_connects_again_and_says_why_it_had_to(
    world: World, caplog: pytest.LogCaptureFixture
):
    await world.link()
    world.answers.issue("a" * 43, "ann", "approved")
    unreachable = Reply.json({"ok": True, "url": f"ws://127.0.0.1:1/?ticket={TICKET}"})
    world.workspace.refusals["apps.connections.open"] = [
        Reply(sent=False),
        Reply.json({"ok": False, "error": "invalid_auth"}),
        unreachable,
        Reply.json({"ok": True}),
    ]
    listener = world.listener()

    async with listening(listener.run()):
        await until(lambda: bool(world.workspace.sockets))
        await world.workspace.sockets[0].send("no JSON")
        await world.workspace.sockets[0].close()
        await until(lambda: len(world.workspace.sockets) == 2)
        await world.workspace.press(ANN, "a" * 43)
        assert await world.workspace.shown() == ["Done: approved"]
        assert listener.state.connected
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "Slack answered invalid_auth" in logged
    assert "the connection failed" in logged
    assert "the connection was closed" in logged
    assert not any(secret in logged for secret in (BOT, APP, TICKET))


async def test_socket_mode_that_was_switched_off_is_named(world: World):
    world.workspace.greets = False
    listener = world.listener()

    async with listening(listener.run()):
        await until(lambda: bool(world.workspace.sockets))
        notice = {"type": "disconnect", "reason": "link_disabled"}
        await world.workspace.sockets[0].send(orjson.dumps(notice).decode())
        await until(lambda: len(world.workspace.sockets) == 2)
        assert listener.state.error == "Socket Mode is disabled for this Slack app"


async def test_an_answer_that_fails_is_shown_without_its_error(world: World):
    world.answers.fails = True
    listener = world.listener()

    async with listening(listener.run()):
        await world.workspace.press(ANN, "a" * 43)
        (text,) = await world.workspace.shown()
        assert "secret" not in text
        assert "secret" not in str(listener.state)


def test_secrets_are_not_part_of_what_is_written_about_the_app(world: World):
    assert BOT not in repr(world.app)
    assert APP not in repr(world.app)
