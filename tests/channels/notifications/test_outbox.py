"""The outbox and its sender: retries, order, ends, and what a crash leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.channels.notifications import sender as module
from app.channels.notifications.capabilities import (
    CapabilityExpired,
    CapabilityUnknown,
    CapabilityUsed,
)
from app.channels.notifications.outbox import MAX_CLAIMED, OutboxMessage
from app.channels.notifications.sender import PER_CHANNEL
from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain
from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from tests.channels.notifications.office import FACTS, Office, office

pytestmark = pytest.mark.requirement("APR-1")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path) as opened:
        yield opened


async def test_each_state_is_sent_once_and_its_end_updates_it(desk: Office):
    one = await desk.subscription(await desk.channel(), address="here")
    facts = await desk.open(one)
    await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("approved", "bob"))
    await desk.notifications.outbox.close(facts.ended("approved", "bob"))
    await desk.turn()
    first, end = desk.peer.delivered
    assert desk.peer.noted == [("send", "opened"), ("update", "closed")]
    assert (end.reference, end.address) == (f"ref-{first.message.id}", "here")
    assert end.message.item_id == first.message.item_id == "cfm_1"
    assert end.message.id != first.message.id
    assert end.message.subject == "Approved by bob: bash: rm -rf build"
    assert first.message.link == "https://tollgate.test/approvals/cfm_1"
    assert await desk.states() == [("opened", "sent"), ("closed", "sent")]
    assert dict(desk.metrics.notifications) == {("script", "sent"): 2}


async def test_reminders_are_messages_of_their_own_and_each_is_updated(desk: Office):
    one = await desk.subscription(await desk.channel())
    facts = await desk.open(one)
    for occurrence in (1, 2, 2):
        await desk.notifications.outbox.append(facts, "reminder", [one], occurrence=occurrence)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("expired", None))
    await desk.turn()
    assert desk.peer.noted[:3] == [("send", "opened"), ("send", "reminder"), ("send", "reminder")]
    assert [item.reference for item in desk.peer.delivered[3:]] == [
        f"ref-{item.message.id}" for item in desk.peer.delivered[:3]
    ]


async def test_a_request_that_ended_first_is_not_sent(desk: Office):
    one = await desk.subscription(await desk.channel())
    facts = await desk.open(one)
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    await desk.turn()
    assert desk.peer.delivered == []
    assert await desk.rows() == [("opened", "dropped", "request ended")]


async def test_a_failure_is_retried_under_the_same_id_with_growing_waits(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.extend(
        [DeliveryFailed("busy"), DeliveryFailed("busy"), DeliveryUncertain("?")]
    )
    await desk.open(one)
    waits = []
    for _ in range(3):
        await desk.turn()
        asked = len(desk.peer.delivered)
        wait = 0.0
        while len(desk.peer.delivered) == asked:
            desk.clock.advance(0.5)
            wait += 0.5
            await desk.turn()
        waits.append(wait)
    assert len({item.message.id for item in desk.peer.delivered}) == 1
    assert len(desk.peer.delivered) == 4
    for wait, (least, most) in zip(waits, [(1, 2.5), (2, 4.5), (4, 8.5)], strict=True):
        assert least <= wait <= most
    assert await desk.states() == [("opened", "sent")]
    assert desk.metrics.notifications["script", "retried"] == 3


async def test_the_wait_that_a_provider_asks_for_is_respected(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryFailed("slow down", retry_after_s=3600))
    await desk.open(one)
    await desk.turn()
    desk.clock.advance(3590)
    await desk.turn()
    assert len(desk.peer.delivered) == 1
    desk.clock.advance(10)
    await desk.turn()
    assert len(desk.peer.delivered) == 2


async def test_a_provider_that_asks_for_a_wait_gets_nothing_else_and_others_go_on(desk: Office):
    limited = await desk.subscription(await desk.channel("limited"))
    free = await desk.subscription(await desk.channel("free"))
    desk.peer.script.append(DeliveryFailed("slow down", retry_after_s=120))
    await desk.open(limited)
    await desk.turn()
    # More than one claim looks at, and all of them are older than that of the other channel.
    rows = [desk.open(limited, item_id=f"cfm_x{number}") for number in range(MAX_CLAIMED + 1)]
    await asyncio.gather(*rows)
    await desk.open(free, item_id="cfm_free")
    await desk.turn()
    assert [item.message.item_id for item in desk.peer.delivered] == ["cfm_1", "cfm_free"]
    desk.clock.advance(120)
    await desk.turn()
    assert len(desk.peer.delivered) == MAX_CLAIMED + 4


async def test_retries_end_after_a_day(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.extend(DeliveryFailed("down") for _ in range(1000))
    await desk.open(one)
    for _ in range(26 * 6):
        await desk.turn()
        desk.clock.advance(600)
    asked = len(desk.peer.delivered)
    assert await desk.rows() == [("opened", "failed", "down")]
    desk.clock.advance(3600)
    await desk.turn()
    assert len(desk.peer.delivered) == asked > 100


async def test_a_permanent_failure_ends_at_once_and_the_end_updates_nothing(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryFailed("no such chat", permanent=True))
    facts = await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    await desk.turn()
    assert desk.peer.noted == [("send", "opened")]
    assert await desk.rows() == [("opened", "failed", "no such chat")]


async def test_an_address_that_is_gone_loses_its_subscription(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryFailed("gone", gone=True))
    await desk.open(one)
    await desk.open(one, item_id="cfm_2")
    await desk.turn()
    assert desk.notifications.subscriptions.list_all() == []
    assert {state for _, state in await desk.states()} <= {"failed", "dropped", "sent"}


async def test_an_end_during_a_failing_attempt_drops_the_retry(desk: Office):
    one = await desk.subscription(await desk.channel())
    gate = asyncio.Event()
    desk.peer.script.append(gate)
    facts = await desk.open(one)
    await desk.notifications.sender.send_due()
    await asyncio.sleep(0)
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    await desk.notifications.sender.send_due()
    assert desk.peer.noted == [("send", "opened")]
    gate.set()
    await desk.turn()
    assert desk.peer.noted == [("send", "opened"), ("update", "closed")]


async def test_the_end_of_a_failed_attempt_is_not_announced(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryFailed("busy"))
    facts = await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    desk.clock.advance(600)
    await desk.turn()
    assert desk.peer.noted == [("send", "opened")]


async def test_the_end_of_an_attempt_without_an_answer_is_announced(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryUncertain("no answer"))
    facts = await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    desk.clock.advance(600)
    await desk.turn()
    assert desk.peer.noted == [("send", "opened"), ("update", "closed")]
    assert desk.peer.delivered[1].reference is None


async def test_a_slow_channel_holds_up_no_other_and_sends_some_at_a_time(desk: Office):
    gate = asyncio.Event()
    slow = await desk.subscription(await desk.channel("slow"))
    fast = await desk.subscription(await desk.channel("fast"))
    for number in range(10):
        desk.peer.script.append(gate)
        await desk.open(slow, item_id=f"cfm_{number}")
    await desk.notifications.sender.send_due()
    await asyncio.sleep(0)
    # The first requests of the slow channel take the gates; the fast one needs none.
    desk.peer.script.clear()
    await desk.open(fast, item_id="cfm_fast")
    await desk.notifications.sender.send_due()
    await desk.sent_one()
    assert desk.peer.most <= PER_CHANNEL + 1
    while desk.notifications.sender.in_delivery > PER_CHANNEL:  # noqa: ASYNC110 - its task ends
        await asyncio.sleep(0)
    assert desk.peer.running == PER_CHANNEL
    gate.set()
    await desk.turn()
    assert len(desk.peer.delivered) == 11


async def test_messages_of_one_request_stay_in_order(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(DeliveryFailed("busy"))
    facts = await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.append(facts, "reminder", [one])
    await desk.turn()
    assert desk.peer.noted == [("send", "opened")]
    desk.clock.advance(600)
    await desk.turn()
    assert desk.peer.noted[1:] == [("send", "opened"), ("send", "reminder")]


async def test_nothing_is_sent_without_the_right_to_decide(desk: Office):
    one = await desk.subscription(await desk.channel())
    facts = await desk.open(one)
    await desk.turn()
    desk.entitled = False
    await desk.open(one, item_id="cfm_2")
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    await desk.turn()
    assert desk.peer.noted == [("send", "opened")]
    assert [state for _, state in await desk.states()] == ["sent", "dropped", "dropped"]


async def test_a_disabled_channel_and_a_removed_subscription_send_nothing(desk: Office):
    channel = await desk.channel()
    one = await desk.subscription(channel)
    other = await desk.subscription(channel, "user:bob")
    await desk.open(one, other)
    await desk.notifications.subscriptions.remove(other.id, actor="bob")
    await desk.notifications.channels.change(channel.id, {"enabled": False}, None, actor="boss")
    await desk.turn()
    assert desk.peer.delivered == []
    assert [error for *_, error in await desk.rows()] == [
        "channel disabled",
        "subscription removed",
    ]


async def test_a_failing_channel_is_reported_until_it_delivers(desk: Office):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.extend([DeliveryFailed("it says s3cret-of-channel"), DeliveryFailed("down")])
    await desk.open(one)
    await desk.turn()
    (trouble,) = desk.notifications.sender.troubles
    assert "s3cret" not in trouble.error
    desk.clock.advance(60)
    await desk.turn()
    (later,) = desk.notifications.sender.troubles
    assert (later.name, later.error, later.since) == ("script", "down", trouble.since)
    assert desk.metrics.gauges["notifications_pending"] == 1
    assert desk.metrics.gauges["notification_pending_age_seconds"] == pytest.approx(60)
    desk.clock.advance(60)
    await desk.turn()
    assert desk.notifications.sender.troubles == ()


async def test_a_transport_with_a_fault_is_retried_and_its_text_is_not_logged(
    desk: Office, caplog: pytest.LogCaptureFixture
):
    one = await desk.subscription(await desk.channel())
    desk.peer.script.append(RuntimeError("https://hooks.test/s3cret"))
    await desk.open(one)
    await desk.turn()
    assert "s3cret" not in caplog.text
    assert "RuntimeError" in caplog.text
    desk.clock.advance(60)
    await desk.turn()
    assert await desk.states() == [("opened", "sent")]


async def test_an_outcome_that_cannot_be_stored_is_stored_later_and_not_sent_again(
    desk: Office, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "RECORD_AGAIN_S", 0)
    one = await desk.subscription(await desk.channel())
    outbox, failures = desk.notifications.outbox, [StorageUnavailable("disk full")] * 2
    stored = outbox.sent

    async def sent(message: OutboxMessage, reference: str | None) -> None:
        if failures:
            raise failures.pop()
        await stored(message, reference)

    monkeypatch.setattr(outbox, "sent", sent)
    await desk.open(one)
    await desk.turn()
    desk.clock.advance(3600)
    await desk.turn()
    assert len(desk.peer.delivered) == 1
    assert await desk.states() == [("opened", "sent")]


async def test_a_fault_before_sending_delays_the_message(
    desk: Office, monkeypatch: pytest.MonkeyPatch
):
    one = await desk.subscription(await desk.channel())
    await desk.open(one)
    with monkeypatch.context() as broken:
        broken.setattr(desk.notifications.sender, "_entitled", None)
        await desk.turn()
    assert await desk.states() == [("opened", "pending")]
    desk.clock.advance(60)
    await desk.turn()
    assert await desk.states() == [("opened", "sent")]


async def test_a_cut_attempt_is_repeated_under_the_same_id(tmp_path: Path):
    async with office(tmp_path) as first:
        one = await first.subscription(await first.channel())
        await first.open(one)
        first.peer.script.append(asyncio.Event())
        await first.notifications.sender.send_due()
        await asyncio.sleep(0)
        (cut,) = first.peer.delivered
    async with office(tmp_path) as second:
        await second.turn()
        assert second.peer.delivered == []
        await second.notifications.outbox.recover()
        await second.turn()
        (again,) = second.peer.delivered
        assert again.message == cut.message


async def test_a_request_that_ended_during_a_crash_closes_its_messages(tmp_path: Path):
    async with office(tmp_path) as first:
        one = await first.subscription(await first.channel())
        await first.open(one)
        await first.open(one, item_id="cfm_2")
        first.peer.script.extend([None, asyncio.Event()])
        await first.notifications.sender.send_due()
        await asyncio.sleep(0)
        await first.sent_one()
    async with office(tmp_path) as second:
        outbox = second.notifications.outbox
        await outbox.recover()
        left = await outbox.open_items()
        assert set(left) == {"cfm_1", "cfm_2"}
        for facts in left.values():
            await outbox.close(facts.ended("expired", None))
        await second.turn()
        # The second may have arrived: it is not sent again, only ended.
        assert second.peer.noted == [("update", "closed"), ("update", "closed")]
        assert await outbox.open_items() == {}


async def test_old_messages_are_deleted_and_waiting_ones_stay(desk: Office):
    one = await desk.subscription(await desk.channel())
    await desk.open(one)
    await desk.turn()
    desk.clock.advance(29 * 86_400)
    assert await desk.notifications.retention.trim() == 0
    await desk.open(one, item_id="cfm_2")
    desk.clock.advance(2 * 86_400)
    assert await desk.notifications.retention.trim() == 1
    assert await desk.states() == [("opened", "pending")]


async def test_a_channel_without_content_says_nothing_of_the_request(desk: Office):
    one = await desk.subscription(await desk.channel(content="none"))
    facts = await desk.open(one)
    await desk.turn()
    await desk.notifications.outbox.close(facts.ended("approved", "ann"))
    await desk.turn()
    shown = [
        (item.subject, item.body, item.risk, item.expires_at, item.outcome)
        for item in (delivered.message for delivered in desk.peer.delivered)
    ]
    assert shown == [
        ("Tollgate: approval needed", "", None, None, None),
        ("Tollgate: request ended", "", None, None, "ended"),
    ]


# -- answers in place ---------------------------------------------------------------------


async def test_buttons_are_offered_up_to_the_risk_of_the_channel(desk: Office):
    channel = await desk.channel(buttons="low")
    mine = await desk.subscription(channel)
    everybody = await desk.subscription(channel, "all")
    await desk.open(mine, everybody, item_id="cfm_low", risk="low")
    for number, risk in enumerate(("medium", "high", None)):
        await desk.open(mine, item_id=f"cfm_{number}", risk=risk)
    await desk.open(mine, item_id="qst_1", kind="question", risk="low")
    await desk.turn()
    with_buttons = [item.message for item in desk.peer.delivered if item.message.actions]
    (only,) = with_buttons
    assert only.item_id == "cfm_low"
    allow, deny = only.actions
    assert (allow.kind, deny.kind) == ("allow", "deny")
    assert len(allow.capability) == 43
    taken = await desk.notifications.capabilities.take(allow.capability)
    assert (taken.confirmation_id, taken.digest, taken.user_id) == ("cfm_low", "9f86", "ann")
    assert (taken.option_id, taken.token_id, taken.subscription_id) == (
        "approve_once",
        "tok_1",
        mine.id,
    )


@pytest.mark.requirement("APR-3")
async def test_a_capability_is_taken_once_and_in_time(desk: Office):
    capabilities = desk.notifications.capabilities
    now = desk.clock.time()
    minted = [
        await capabilities.mint("cfm_1", "9f86", "ann", "tok_1", "decline", "nsb_1", now + 60)
        for _ in range(2)
    ]
    results = []

    async def take() -> None:
        with ErrorBoundary() as held:
            await capabilities.take(minted[0])
        results.append(type(held.error).__name__)

    await asyncio.gather(*(take() for _ in range(20)))
    assert sorted(results) == ["CapabilityUsed"] * 19 + ["NoneType"]
    with pytest.raises(CapabilityUsed):
        await capabilities.take(minted[0])
    with pytest.raises(CapabilityUnknown):
        await capabilities.take(minted[1][:-1])
    desk.clock.advance(60)
    with pytest.raises(CapabilityExpired):
        await capabilities.take(minted[1])


async def test_only_digests_of_capabilities_are_stored(desk: Office, tmp_path: Path):
    one = await desk.subscription(await desk.channel(buttons="medium"), address="s3cret-address")
    await desk.open(one)
    await desk.turn()
    ids = [action.capability for action in desk.peer.delivered[0].message.actions]
    await desk.db.close()
    files = tmp_path.glob("tollgate.db*")  # noqa: ASYNC240 - a folder of the test
    stored = b"".join(path.read_bytes() for path in files)
    assert len(ids) == 2
    for secret in (*ids, "s3cret-address", "s3cret-of-channel"):
        assert secret.encode() not in stored
    assert FACTS.title.encode() in stored
