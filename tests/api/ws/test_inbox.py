"""Pending requests of every session reach the users who may answer, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agents import inbox as module
from tests.support.service import Chat, Message, Running, serving, settings_for

ADMIN = "operator-secret-0123456789"
RISKY = {"name": "bash", "arguments": {"command": "rm -rf build"}}
QUESTION = {"name": "ask_user", "arguments": {"question": "Which?", "choices": ["red", "blue"]}}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path, token=ADMIN)) as service:
        yield service


@asynccontextmanager
async def person(running: Running, name: str, *scopes: str, **limited: Any) -> AsyncIterator[Chat]:
    secret, _ = await running.service.tokens.create(name, scopes, **limited)
    async with running.connect(hello={"auth": {"token": secret}}) as chat:
        yield chat


@asynccontextmanager
async def admin(running: Running) -> AsyncIterator[Chat]:
    async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
        yield chat


async def follow(chat: Chat, after: str | None = None) -> Message:
    extra = {} if after is None else {"after": after}
    return await chat.command(type="subscribe_inbox", **extra)


async def wait_for_person(chat: Chat, running: Running, call: dict[str, Any]) -> str:
    """Make a call that waits, in a session that nobody has subscribed to; return the session."""
    session = running.session(user_id="ann")
    acked = await chat.command(type="tool_call", session_id=session.id, **call)
    assert acked["type"] == "ack", acked
    return session.id


def shown(message: Message) -> tuple[str, str, str]:
    return message["state"], message["entry"]["kind"], message["entry"]["session_id"]


async def decline(chat: Chat, entry: Message) -> Message:
    """Answer from the entry alone: what it lacks is read from its session."""
    subscribed = await chat.command(type="subscribe", session_id=entry["session_id"])
    (asked,) = subscribed["pending_confirmations"]
    return await chat.command(
        type="tool_confirmation_response",
        session_id=entry["session_id"],
        confirmation_id=entry["id"],
        option_id="decline",
        digest=asked["digest"],
    )


async def test_a_call_that_nobody_has_open_is_shown_and_its_end_too(running: Running):
    async with person(running, "ann", "chat", "tools:call", "approve") as ann:
        ready = await follow(ann)
        assert (ready["type"], ready["recovered"], ready["entries"]) == ("inbox", False, [])
        session_id = await wait_for_person(ann, running, RISKY)
        opened = await ann.until("inbox_changed")
        assert shown(opened) == ("opened", "confirmation", session_id)
        entry = opened["entry"]
        assert (entry["tool_name"], entry["title"]) == ("bash", "bash: rm -rf build")
        assert entry["risk"] in ("medium", "high")
        assert entry["expires_at"] > entry["opened_at"]
        assert (await follow(ann))["entries"] == [entry]
        assert (await decline(ann, entry))["result"] == {"outcome": "declined"}
        closed = await ann.until("inbox_changed")
        assert shown(closed) == ("closed", "confirmation", session_id)
        assert (closed["outcome"], closed["by"]) == ("declined", "ann")
        assert (await follow(ann))["entries"] == []


async def test_a_question_is_shown_until_it_is_answered(running: Running):
    async with person(running, "ann", "chat", "tools:call") as ann:
        await follow(ann)
        session_id = await wait_for_person(ann, running, QUESTION)
        opened = await ann.until("inbox_changed")
        assert shown(opened) == ("opened", "question", session_id)
        assert opened["entry"]["title"] == "Which?"
        await ann.command(
            type="question_response",
            session_id=session_id,
            question_id=opened["entry"]["id"],
            outcome="answered",
            answer="red",
        )
        closed = await ann.until("inbox_changed")
        assert (*shown(closed), closed["outcome"], closed["by"]) == (
            *("closed", "question", session_id),
            *("answered", "ann"),
        )


async def test_a_run_that_is_stopped_takes_its_questions_along(running: Running):
    async with person(running, "ann", "chat", "tools:call", "approve") as ann:
        await follow(ann)
        session_id = await wait_for_person(ann, running, RISKY)
        opened = await ann.until("inbox_changed")
        run_id = opened["entry"]["run_id"]
        await ann.command(type="cancel", session_id=session_id, target="run", target_id=run_id)
        closed = await ann.until("inbox_changed")
        assert (*shown(closed), closed["outcome"]) == (
            *("closed", "confirmation", session_id),
            "cancelled",
        )
        assert "by" not in closed


async def test_everybody_sees_what_they_may_decide_and_nothing_else(running: Running):
    """The administrator comes last: whoever has seen less by then does not see it."""
    async with (
        person(running, "ann", "chat", "tools:call", "approve") as ann,
        person(running, "ann", "chat") as reader,
        person(running, "ann", "approve", agents=["other"]) as elsewhere,
        person(running, "bob", "chat", "approve") as bob,
        admin(running) as operator,
    ):
        clients = {"ann": ann, "reader": reader, "elsewhere": elsewhere, "bob": bob}
        for chat in (*clients.values(), operator):
            await follow(chat)
        confirmation = await wait_for_person(ann, running, RISKY)
        await operator.until("inbox_changed")
        question = await wait_for_person(ann, running, QUESTION)
        await operator.until("inbox_changed")
        seen = {}
        for name, chat in clients.items():
            await chat.command(type="ping")
            changes = [shown(m)[2] for m in chat.seen if m["type"] == "inbox_changed"]
            seen[name] = [changes, [one["session_id"] for one in (await follow(chat))["entries"]]]
        assert seen == {
            "ann": [[confirmation, question]] * 2,
            "reader": [[question]] * 2,
            "elsewhere": [[], []],
            "bob": [[], []],
        }


@pytest.mark.parametrize("scope", ["tools:call", "audit:read"])
async def test_who_decides_nothing_has_no_inbox(running: Running, scope: str):
    async with person(running, "ann", scope) as ann:
        assert (await follow(ann))["error"]["code"] == "forbidden"


async def test_a_lost_connection_misses_nothing_and_gets_nothing_twice(running: Running):
    async with person(running, "ann", "chat", "tools:call", "approve") as ann:
        await follow(ann)
        first = await wait_for_person(ann, running, RISKY)
        cursor = (await ann.until("inbox_changed"))["cursor"]
        second = await wait_for_person(ann, running, RISKY)
        await ann.until("inbox_changed")
        async with person(running, "ann", "approve") as again:
            ready = await follow(again, cursor)
            assert (ready["recovered"], ready["entries"]) == (True, [])
            assert ready["cursor"] == cursor  # it may be lost before what follows has arrived
            assert shown(await again.until("inbox_changed"))[2] == second
            await again.command(type="ping")
            assert [m["type"] for m in again.seen].count("inbox_changed") == 1
            late = await follow(again, "ibx_unknown")
            assert late["recovered"] is False
            assert [one["session_id"] for one in late["entries"]] == [first, second]
            assert (await follow(again, late["cursor"]))["recovered"] is True


async def test_after_too_many_changes_the_whole_list_comes(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "RING", 2)
    inbox = module.Inbox(running.service.db, running.service.clock, lambda _: None)
    start = inbox.cursor
    for number in range(2):
        request = {"tool_name": "ask_user", "question": "long\n" * 1000}
        inbox.opened("question", f"qst_{number}", "ses_1", request)
    await running.service.db.flush()
    assert [change.item.id for change in inbox.after(start) or []] == ["qst_0", "qst_1"]
    inbox.closed("qst_0", "answered", "ann")
    await running.service.db.flush()
    assert inbox.after(start) is None
    assert inbox.after("") is None
    assert [item.id for item in inbox.items] == ["qst_1"]
    assert len(inbox.items[0].title) <= 300
    assert "\n" not in inbox.items[0].title


async def test_a_restart_tells_what_still_waits(tmp_path: Path):
    settings = settings_for(tmp_path, token=ADMIN)
    async with serving(settings) as running, person(running, "ann", "tools:call", "chat") as ann:
        session_id = await wait_for_person(ann, running, RISKY)
    async with serving(settings) as running, admin(running) as operator:
        (entry,) = (await follow(operator))["entries"]
        assert (entry["kind"], entry["session_id"]) == ("confirmation", session_id)
        async with person(running, "ann", "approve") as ann:
            assert (await follow(ann))["entries"] == [entry]


async def test_no_more_is_sent_after_unsubscribing(running: Running):
    async with person(running, "ann", "chat", "tools:call", "approve") as ann:
        before = set(running.service.inbox.listeners)
        await follow(ann)
        assert (await ann.command(type="unsubscribe_inbox"))["type"] == "ack"
        assert (await ann.command(type="unsubscribe_inbox"))["type"] == "ack"
        await wait_for_person(ann, running, RISKY)
        async with admin(running) as operator:
            await follow(operator)
            await wait_for_person(ann, running, RISKY)
            await operator.until("inbox_changed")
        await ann.command(type="ping")
        assert "inbox_changed" not in {message["type"] for message in ann.seen}
        assert running.service.inbox.listeners == before
