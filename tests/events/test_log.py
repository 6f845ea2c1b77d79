"""The log of a session: numbers without gaps, delivered after the commit, in order."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

import app.db.writer
from app.events.durable import MessageCompleted, RunStarted
from app.events.log import EventLog
from tests.execution.lab import PATIENCE_S, Lab, Watcher
from tests.support.stored_events import stored_events


def say(lab: Lab, text: str) -> int:
    return lab.session.log.emit(
        MessageCompleted, message_id="m", role="user", content=[{"type": "text", "text": text}]
    )


async def test_durable_events_are_numbered_without_gaps_and_stored_as_they_were_sent(lab: Lab):
    numbers = [say(lab, str(n)) for n in range(20)]
    await lab.runtime.db.flush()
    assert numbers == list(range(1, 21))
    assert [frame.seq for frame in lab.watcher.frames] == numbers
    with closing(sqlite3.connect(lab.runtime.settings.database_path)) as database:
        stored = [(event.seq, event.body) for event in stored_events(database)]
    assert stored == [(frame.seq, frame.body) for frame in lab.watcher.frames]


async def test_nothing_is_delivered_before_it_is_committed_and_live_output_keeps_its_place(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app.db.writer, "RETRY_S", 0.01)
    await lab.runtime.db.flush()
    log = lab.session.log
    with closing(
        sqlite3.connect(lab.runtime.settings.database_path, isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        say(lab, "first")
        log.send("text_delta", {"message_id": "m", "chunk_from": 0, "chunk_to": 1, "text": "x"})
        say(lab, "second")
        for _ in range(20):
            await asyncio.sleep(0)
        assert (lab.watcher.events, log.committed, log.head) == ([], 0, 2)
        other.execute("ROLLBACK")
    await lab.watcher.until("message_completed", count=2)
    assert [event["type"] for event in lab.watcher.events] == [
        "message_completed",
        "text_delta",
        "message_completed",
    ]
    assert lab.watcher.events[1]["after_seq"] == 1


async def test_live_output_without_a_watcher_is_not_even_encoded(lab: Lab):
    lab.session.log.subscribers.clear()
    lab.session.log.send("text_delta", {"text": object()})
    assert lab.session.log.head == 0


async def test_recent_events_come_from_the_ring_while_it_holds_them_all(lab: Lab):
    events = EventLog(lab.runtime.db, lab.runtime.clock, ring=3)
    log = events.open(lab.session.id + "x", "e", 0)
    for _ in range(5):
        log.emit(RunStarted, trigger="direct")
    await lab.runtime.db.flush()
    assert [frame.seq for frame in log.recent(2) or []] == [3, 4, 5]
    assert [frame.seq for frame in log.recent(4) or []] == [5]
    assert log.recent(5) == []
    assert log.recent(1) is None
    fresh = events.open("other", "e", 9)
    assert fresh.recent(8) is None


async def test_a_log_that_somebody_needs_is_not_released(lab: Lab):
    events = lab.runtime.events
    log = lab.session.log
    events.release(log.session_id)
    assert events.get(log.session_id) is log
    log.subscribers.clear()
    say(lab, "not committed yet")
    events.release(log.session_id)
    assert events.get(log.session_id) is log
    await lab.runtime.db.flush()
    events.release(log.session_id)
    assert events.get(log.session_id) is None


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\u2028"], ids=ascii)
async def test_text_that_utf_8_cannot_hold_is_replaced_not_refused(lab: Lab, text: str):
    say(lab, text)
    async with asyncio.timeout(PATIENCE_S):
        await lab.watcher.until("message_completed")


async def test_a_second_watcher_sees_only_what_comes_after_it_joined(lab: Lab):
    say(lab, "before")
    await lab.runtime.db.flush()
    late = Watcher()
    lab.session.log.subscribers.add(late)
    say(lab, "after")
    await lab.runtime.db.flush()
    said: list[Any] = [event["content"][0]["text"] for event in late.events]
    assert said == ["after"]
