"""From the inbox to the outbox: what is stored, for whom, and what a restart finds again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.agents.inbox import Inbox
from app.agents.notices import MAX_DETAILS, NoticeFeed, details_of
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.subscriptions import NotificationSubscription
from tests.channels.notifications.office import Office, office

REQUEST = {"tool_name": "bash", "title": "bash: rm -rf build", "risk": {"level": "low"}}


@dataclass
class Desk:
    """An office with a feed, and who may receive what."""

    office: Office
    inbox: Inbox
    feed: NoticeFeed
    refused: set[str] = field(default_factory=set)

    async def opened(self, item_id: str = "cfm_1") -> None:
        self.inbox.opened("confirmation", item_id, "ses_1", REQUEST)
        await self.office.db.flush()

    async def stored(self) -> list[tuple[str, str, str]]:
        sql = "SELECT item_id, event, subscription_id FROM notifications ORDER BY seq"
        return await self.office.db.transact(lambda work: work.fetch(sql))

    async def settled(self, count: int) -> list[tuple[str, str, str]]:
        """Wait until so many messages are stored."""
        while len(found := await self.stored()) < count:  # noqa: ASYNC110 - asks the database
            await asyncio.sleep(0)
        return found


def desk_of(opened: Office) -> Desk:
    inbox = Inbox(opened.db, opened.clock, lambda _: None)
    notifications = opened.notifications
    made = Desk(opened, inbox, None)  # type: ignore[arg-type]

    async def entitled(subscription: NotificationSubscription, facts: RequestFacts) -> bool:
        return subscription.audience not in made.refused

    made.feed = NoticeFeed(
        *(inbox, opened.db, notifications.outbox, notifications.subscriptions.list_all), entitled
    )
    return made


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with office(tmp_path) as opened:
        yield desk_of(opened)


async def test_changes_become_messages_of_those_who_may_decide(desk: Desk):
    channel = await desk.office.channel()
    ann = await desk.office.subscription(channel, "user:ann")
    await desk.office.subscription(channel, "user:bob")
    desk.refused = {"user:bob"}
    async with desk.feed.following():
        await desk.opened()
        assert await desk.settled(1) == [("cfm_1", "opened", ann.id)]
        await desk.office.turn()
        desk.inbox.closed("cfm_1", "approved", "ann")
        await desk.office.db.flush()
        assert (await desk.settled(2))[1] == ("cfm_1", "closed", ann.id)
    assert not desk.inbox.listeners


async def test_a_state_can_be_limited_to_an_audience_and_repeated(desk: Desk):
    channel = await desk.office.channel()
    ann = await desk.office.subscription(channel, "user:ann")
    group = await desk.office.subscription(channel, "group:oncall")
    await desk.opened()
    (item,) = desk.inbox.items
    await desk.feed.notify(item, "reminder")
    await desk.feed.notify(item, "reminder", occurrence=1)
    await desk.feed.notify(item, "reminder", occurrence=2)
    await desk.feed.notify(item, "escalated", frozenset({"group:oncall"}))
    # Subscriptions of one moment have no order.
    assert sorted(await desk.stored()) == sorted(
        [("cfm_1", "reminder", ann.id), ("cfm_1", "reminder", group.id)] * 2
    )
    desk.inbox.closed("cfm_1", "expired")
    await desk.office.db.flush()
    await desk.feed.notify(item, "reminder", occurrence=3)
    assert len(await desk.stored()) == 4


async def test_an_escalation_reaches_those_who_have_no_message_yet(desk: Desk):
    channel = await desk.office.channel()
    ann = await desk.office.subscription(channel, "user:ann")
    group = await desk.office.subscription(channel, "group:oncall")
    desk.refused = {"group:oncall"}
    async with desk.feed.following():
        await desk.office.notifications.outbox.ready.wait()
        await desk.opened()
        assert await desk.settled(1) == [("cfm_1", "opened", ann.id)]
        desk.refused = set()
        desk.inbox.changed("cfm_1", "vote", REQUEST, 1)
        desk.inbox.changed("cfm_1", "escalated", REQUEST, 1)
        desk.inbox.changed("cfm_1", "reminder", REQUEST, 2)
        await desk.office.db.flush()
        stored = await desk.settled(4)
        assert stored[1] == ("cfm_1", "escalated", group.id)
        assert {row[1:] for row in stored[2:]} == {("reminder", ann.id), ("reminder", group.id)}
    await desk.feed.reconcile()
    assert len(await desk.stored()) == 4


async def test_a_start_finds_what_a_crash_has_lost(tmp_path: Path):
    """Of two requests, one has ended with the process, and one waits again."""
    async with office(tmp_path) as first:
        before = desk_of(first)
        one = await first.subscription(await first.channel())
        for item_id in ("cfm_1", "cfm_2"):
            await before.opened(item_id)
        await before.feed.reconcile()
        await first.turn()
        assert first.peer.noted == [("send", "opened")] * 2
    async with office(tmp_path) as second:
        after = desk_of(second)
        await after.opened("cfm_2")
        await after.opened("cfm_3")
        async with after.feed.following():
            await second.notifications.outbox.ready.wait()
            assert (await after.stored())[2:] == [
                ("cfm_1", "closed", one.id),
                ("cfm_3", "opened", one.id),
            ]


async def test_nothing_is_sent_before_ended_requests_are_closed(tmp_path: Path):
    async with office(tmp_path) as first:
        before = desk_of(first)
        await first.subscription(await first.channel())
        await before.opened()
        await before.feed.reconcile()
    async with office(tmp_path) as second, second.notifications.delivering():
        await asyncio.sleep(0)
        after = desk_of(second)
        async with after.feed.following():
            await second.notifications.outbox.ready.wait()
            await second.turn()
        assert second.peer.delivered == []
        assert await second.states() == [("opened", "dropped")]


@pytest.mark.parametrize(
    ("request_", "details"),
    [
        ({}, ""),
        (
            {"subject": {"type": "command", "command": "ls", "cwd": "/w"}},
            "Command:\nls\nFolder: /w",
        ),
        (
            {"subject": {"type": "tool_call", "args": {"path": "a"}}, "targets": [{"path": "a"}]},
            'Arguments:\n{\n  "path": "a"\n}\nTargets:\na',
        ),
    ],
)
def test_details_are_the_call_and_its_targets(request_: dict[str, Any], details: str):
    assert details_of(request_) == details


def test_details_are_bounded():
    subject = {"type": "command", "command": "x" * 100_000}
    targets = [{"path": f"file-{number}"} for number in range(50)]
    assert len(details_of({"subject": subject, "targets": targets})) == MAX_DETAILS
    assert details_of({"targets": targets}).endswith("… and 30 more")
