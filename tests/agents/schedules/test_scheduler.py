"""Runs that begin by the clock: when, as whom, and never twice."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from app.agents.sessions import Session
from app.config.settings import Settings
from app.core.errors import StorageUnavailable, ToolFailed
from app.governance.agents import AgentProfile
from app.governance.limits import QuotaSubject
from tests.agents.schedules.schedule_lab import Desk, open_desk
from tests.execution.lab import PATIENCE_S, Watcher
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

HOUR = 3600


@pytest.mark.requirement("SYS-01")
async def test_a_schedule_fires_at_its_time_in_a_session_of_its_own(desk: Desk):
    made = await desk.make(cron="0 9 * * *", prompt="Read the news", name="News")
    await desk.pass_time(HOUR - 1)
    assert await desk.history(made["id"]) == []
    await desk.pass_time(1)
    (slot,) = await desk.history(made["id"])
    assert (slot.scheduled_at, slot.status, slot.run_status) == (
        "2026-01-05T09:00:00.000Z",
        "started",
        "success",
    )
    session = await desk.service.sessions.get(slot.session_id)
    assert session is not None
    assert (session.title, session.user_id, session.project_id) == ("News", "ann", "default")
    asked = (await desk.provider.received(1)).messages[-1]["content"][0]["text"]
    assert asked.endswith("Read the news")
    assert "this run is unattended" in asked
    rows = await desk.lab.rows("SELECT trigger FROM runs WHERE id = ?", slot.run_id)
    assert rows == [("schedule",)]


async def test_each_run_has_a_fresh_session_unless_they_continue_one(desk: Desk):
    fresh = await desk.make(every_seconds=HOUR)
    same = await desk.make(every_seconds=HOUR, session="continue")
    for _ in range(2):
        await desk.pass_time(HOUR)
        await desk.history(fresh["id"])
        await desk.history(same["id"])
    assert len({slot.session_id for slot in await desk.history(fresh["id"])}) == 2
    assert len({slot.session_id for slot in await desk.history(same["id"])}) == 1
    assert len(await desk.history(same["id"])) == 2


async def test_the_next_time_of_a_cron_expression_comes_once_and_the_schedule_is_gone(
    desk: Desk,
):
    once = await desk.call("CronCreate", cron="0 9 * * *", prompt="Read", recurring=False)
    cron_id = once.result.data["cron_id"]
    assert once.result.data["enabled"] is True
    begun = await desk.call(action="run_now", id=cron_id)
    assert begun.success
    await desk.history(cron_id)
    await desk.pass_time(HOUR)
    async with asyncio.timeout(PATIENCE_S):
        while (await desk.call("CronList")).result.data["count"]:
            pass
    await desk.pass_time(24 * HOUR)
    runs = "SELECT count(*) FROM runs WHERE trigger = 'schedule'"
    assert await desk.lab.rows(runs) == [(2,)]
    assert await desk.lab.rows("SELECT id FROM schedule_slots") == []
    rows = await desk.lab.rows("SELECT actor, outcome FROM audit WHERE kind = 'schedule'")
    assert rows[-1] == ("system", "deleted")


async def test_one_time_that_was_missed_stays_to_be_seen(settings: Settings):
    async with open_desk(settings) as desk:
        made = await desk.make(cron="0 9 * * *", recurring=False)
        await desk.pass_time(2 * HOUR)
        (slot,) = await desk.history(made["id"])
        assert slot.status == "missed"
        (listed,) = (await desk.call()).result.data["schedules"]
        assert listed["next"] == []


async def test_a_single_time_comes_once_and_then_never_again(desk: Desk):
    made = await desk.make(at="in 10m")
    await desk.pass_time(10 * 60)
    await desk.pass_time(24 * HOUR)
    assert len(await desk.history(made["id"])) == 1
    (listed,) = (await desk.call()).result.data["schedules"]
    assert listed["next"] == []


@pytest.mark.requirement("D-23")
async def test_many_looks_at_once_begin_one_run(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    desk.clock.advance(HOUR)
    await asyncio.gather(*(desk.scheduler().tick() for _ in range(8)))
    assert len(await desk.history(made["id"])) == 1
    assert await desk.lab.rows("SELECT COUNT(*) FROM runs WHERE trigger = 'schedule'") == [(1,)]


@pytest.mark.parametrize(("missed", "statuses"), [("skip", ["missed"]), ("once", ["started"])])
async def test_times_that_passed_while_the_service_stood_still(
    settings: Settings, missed: str, statuses: list[str]
):
    async with open_desk(settings) as desk:
        made = await desk.make(every_seconds=HOUR, missed=missed)
        clock = desk.clock
    clock.advance(5.5 * HOUR)
    async with open_desk(settings, clock=clock) as desk:
        await desk.pass_time(0)
        found = await desk.history(made["id"])
        assert [slot.status for slot in found] == statuses
        assert found[0].scheduled_at == "2026-01-05T13:00:00.000Z"
        assert found[0].reason == "5 occurrences were missed while the service was stopped"
        assert found[0].reason_code == "times_missed"
        await desk.pass_time(HOUR / 2)
        (latest, *_) = await desk.history(made["id"])
        assert (latest.scheduled_at, latest.status) == ("2026-01-05T14:00:00.000Z", "started")


async def test_a_run_is_skipped_while_the_one_before_is_busy(settings: Settings):
    waiting = Turn(tool_use("bash", {"command": "sleep 600"}))
    async with open_desk(settings, waiting, Turn(text("x"))) as desk:
        made = await desk.make(every_seconds=HOUR)
        await desk.pass_time(HOUR)
        await desk.provider.received(1)
        await desk.pass_time(HOUR)
        skipped, busy = await desk.schedules.history(None, made["id"], 10)
        assert (skipped.status, skipped.reason) == ("skipped", "The previous run has not ended")
        assert skipped.reason_code == "run_not_ended"
        assert busy.run_status == "running"
        await desk.service.runs.cancel(busy.session_id, busy.run_id)


@pytest.mark.requirement("B-32")
async def test_what_asks_is_denied_at_once_because_nobody_is_there(settings: Settings):
    asking = Turn(tool_use("bash", {"command": "rm -rf build"}))
    async with open_desk(settings, asking, Turn(text("I may not"))) as desk:
        made = await desk.make(every_seconds=HOUR)
        await desk.pass_time(HOUR)
        (slot,) = await desk.history(made["id"])
        assert slot.run_status == "success"
        rows = await desk.lab.rows(
            "SELECT tool_name, status FROM tool_calls WHERE run_id = ?", slot.run_id
        )
        assert rows == [("bash", "denied")]
        assert await desk.lab.rows("SELECT COUNT(*) FROM confirmations") == [(0,)]


@pytest.mark.requirement("B-32")
async def test_an_agent_that_waits_for_people_waits_in_a_schedule_too(settings: Settings):
    asking = Turn(tool_use("bash", {"command": "rm -rf build"}))
    async with open_desk(settings, asking, Turn(text("done"))) as desk:
        profile = AgentProfile(id="patient", unattended="suspend")
        await desk.service.agents.create(profile, actor="root")
        made = await desk.make(every_seconds=HOUR, context={"agent_id": "patient"})
        await desk.pass_time(HOUR)
        (slot,) = await desk.schedules.history(None, made["id"], 10)
        session = await desk.service.sessions.get(slot.session_id)
        assert session is not None
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        if not desk.service.confirmations.pending(session.id):
            await watcher.until("tool_confirmation_request")
        (pending,) = desk.service.confirmations.pending(session.id)
        assert pending["tool_name"] == "bash"
        assert pending["agent_id"] == "patient"
        await desk.service.runs.cancel(slot.session_id, slot.run_id)


async def test_a_schedule_whose_agent_is_gone_stands_still_and_says_why(desk: Desk):
    agents = desk.service.agents
    await agents.create(AgentProfile(id="helper"), actor="root")
    made = await desk.make(every_seconds=HOUR, context={"agent_id": "helper"})
    await agents.remove("helper", actor="root")
    await desk.pass_time(HOUR)
    (slot,) = await desk.history(made["id"])
    assert (slot.status, slot.reason_code) == ("failed", "agent_gone")
    assert "helper" in slot.reason
    await desk.pass_time(HOUR)
    assert len(await desk.history(made["id"])) == 1
    still = await desk.schedules.get(None, made["id"])
    assert ("helper" in still.paused, still.paused_code) == (True, "agent_gone")


async def test_a_schedule_whose_project_is_gone_is_paused_with_the_reason(
    desk: Desk, tmp_path: Path
):
    projects = desk.service.projects
    folder = tmp_path / "side"
    folder.mkdir()
    project = await projects.create("Side", str(folder), actor="root")
    opened = projects.get(project.id)
    made = await desk.make(every_seconds=HOUR, context={"project": opened})
    await projects.remove(project.id, actor="root")
    await desk.pass_time(HOUR)
    (slot,) = await desk.history(made["id"])
    assert (slot.status, slot.reason_code) == ("failed", "project_gone")
    paused = await desk.schedules.get(None, made["id"])
    assert (project.id in paused.paused, paused.paused_code) == (True, "project_gone")


def hold_start(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold the next start of a run; return the events that it is reached and may continue."""
    reached, may_start = asyncio.Event(), asyncio.Event()
    send_message = desk.service.runs.send_message

    async def slowly(*args: Any, **options: Any) -> Any:
        reached.set()
        await may_start.wait()
        return await send_message(*args, **options)

    monkeypatch.setattr(desk.service.runs, "send_message", slowly)
    return reached, may_start


async def test_a_second_run_cannot_start_while_one_is_about_to(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    made = await desk.make(every_seconds=24 * HOUR)
    reached, may_start = hold_start(desk, monkeypatch)
    first = asyncio.create_task(desk.schedules.run_now(None, made["id"]))
    await reached.wait()
    desk.clock.advance(1)
    with pytest.raises(ToolFailed, match="A run of this schedule is active"):
        await desk.schedules.run_now(None, made["id"])
    may_start.set()
    await first
    assert len(await desk.history(made["id"])) == 1


async def test_a_run_whose_caller_leaves_starts_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    made = await desk.make(every_seconds=24 * HOUR)
    reached, may_start = hold_start(desk, monkeypatch)
    caller = asyncio.create_task(desk.schedules.run_now(None, made["id"]))
    await reached.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    may_start.set()
    async with asyncio.timeout(PATIENCE_S):
        while [slot.status for slot in await desk.history(made["id"])] != ["started"]:
            pass


async def test_a_run_that_started_has_not_failed(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    made = await desk.make(every_seconds=HOUR)
    send_message = desk.service.runs.send_message

    async def fails() -> None:
        raise StorageUnavailable("disk on fire")

    async def sends(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(desk.service.db, "flush_with_retry", fails)
        return await send_message(*args, **options)

    monkeypatch.setattr(desk.service.runs, "send_message", sends)
    await desk.pass_time(HOUR)
    monkeypatch.undo()
    (slot,) = await desk.schedules.history(None, made["id"], 10)
    assert slot.status != "failed"


async def test_a_short_history_keeps_the_run_that_is_active(settings: Settings):
    settings = settings.model_copy(
        update={"schedules": settings.schedules.model_copy(update={"history": 1})}
    )
    waiting = Turn(tool_use("bash", {"command": "sleep 600"}))
    async with open_desk(settings, waiting, Turn(text("x"))) as desk:
        made = await desk.make(every_seconds=HOUR)
        await desk.pass_time(HOUR)
        await desk.provider.received(1)
        for _ in range(3):
            await desk.pass_time(HOUR)
        skipped, busy = await desk.schedules.history(None, made["id"], 10)
        assert (skipped.reason_code, busy.run_status) == ("run_not_ended", "running")
        await desk.service.runs.cancel(busy.session_id, busy.run_id)


async def test_a_schedule_of_a_revoked_token_does_not_run(desk: Desk):
    _, token = await desk.service.tokens.create("laptop", by="root")
    made = await desk.make(every_seconds=HOUR, context={"quota_subject": QuotaSubject(token.id)})
    await desk.pass_time(HOUR)
    (slot,) = await desk.history(made["id"])
    assert slot.run_status == "success"
    await desk.service.tokens.revoke("laptop", by="root")
    await desk.pass_time(HOUR)
    latest, _ = await desk.history(made["id"])
    assert (latest.status, latest.run_status) == ("failed", None)
    assert latest.reason_code == "token_gone"
    (listed,) = (await desk.call()).result.data["schedules"]
    assert listed["paused"] == "The token that created this schedule is no longer valid"


async def test_a_schedule_ends_when_it_has_expired(desk: Desk):
    made = await desk.make(every_seconds=HOUR, expires_at="in 90m")
    await desk.pass_time(HOUR)
    await desk.pass_time(HOUR)
    assert len(await desk.history(made["id"])) == 1
    (listed,) = (await desk.call()).result.data["schedules"]
    assert listed["paused"] == "expired"
    assert (await desk.schedules.get(None, made["id"])).paused_code == "schedule_expired"


async def test_a_claimed_time_whose_process_died_before_the_run_is_begun_once(
    settings: Settings,
):
    async with open_desk(settings) as desk:
        made = await desk.make(every_seconds=HOUR, missed="once")
        clock = desk.clock
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute(
            "INSERT INTO schedule_slots VALUES ('slt_1', ?, '2026-01-05T08:30:00.000Z', 'slot',"
            " 'claimed', '', 'run_dead', 'ses_dead', '1-1', '2026-01-05T08:30:00.000Z', NULL)",
            (made["id"],),
        )
    connection.close()
    for _ in range(2):
        async with open_desk(settings, clock=clock) as desk:
            await desk.scheduler().recover()
            (slot,) = await desk.history(made["id"])
            assert (slot.status, slot.run_id, slot.run_status) == ("started", "run_dead", "success")
            count = "SELECT COUNT(*) FROM runs WHERE trigger = 'schedule'"
            assert await desk.lab.rows(count) == [(1,)]


async def test_a_claimed_time_that_had_begun_is_not_begun_again(settings: Settings):
    async with open_desk(settings) as desk:
        made = await desk.make(every_seconds=HOUR, missed="once")
        await desk.pass_time(HOUR)
        await desk.history(made["id"])
        clock = desk.clock
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute("UPDATE schedule_slots SET status = 'claimed', claimed_by = '1-1'")
    connection.close()
    async with open_desk(settings, clock=clock) as desk:
        await desk.scheduler().recover()
        (slot,) = await desk.history(made["id"])
        assert (slot.status, slot.run_status) == ("started", "success")
        assert desk.provider.requests == []


async def test_a_time_left_behind_of_a_schedule_that_stands_still_is_not_begun(
    settings: Settings,
):
    async with open_desk(settings) as desk:
        made = await desk.make(every_seconds=HOUR, missed="once")
        await desk.call(action="pause", id=made["id"])
        clock = desk.clock
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute(
            "INSERT INTO schedule_slots VALUES ('slt_1', ?, '2026-01-05T08:30:00.000Z', 'slot',"
            " 'claimed', '', 'run_dead', 'ses_dead', '1-1', '2026-01-05T08:30:00.000Z', NULL)",
            (made["id"],),
        )
    connection.close()
    async with open_desk(settings, clock=clock) as desk:
        await desk.scheduler().recover()
        (slot,) = await desk.history(made["id"])
        assert (slot.status, slot.run_status) == ("skipped", None)
        reported = (slot.reason, slot.reason_code)
        assert reported == ("The schedule is paused: paused", "schedule_still")
        assert desk.provider.requests == []


async def test_one_that_cannot_begin_does_not_take_others_along(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    bad = await desk.make(every_seconds=HOUR, name="a")
    good = await desk.make(every_seconds=HOUR, name="b")
    create = desk.service.sessions.create

    def fails(**fields: Any) -> Session:
        if fields["title"] == "a":
            raise RuntimeError("disk on fire")
        return create(**fields)

    monkeypatch.setattr(desk.service.sessions, "create", fails)
    await desk.pass_time(HOUR)
    assert [slot.status for slot in await desk.history(good["id"])] == ["started"]
    (left,) = await desk.schedules.history(None, bad["id"], 10)
    assert (left.status, left.reason_code, left.run_status) == ("failed", "internal", None)
    assert "disk" not in left.reason
    monkeypatch.undo()
    await desk.pass_time(HOUR)
    latest, _ = await desk.history(bad["id"])
    assert latest.status == "started"


async def test_a_clock_that_was_ahead_does_not_silence_a_schedule(settings: Settings):
    async with open_desk(settings) as desk:
        made = await desk.make(every_seconds=HOUR)
        once = await desk.make(at="2026-01-06T12:00", tz="UTC")
        clock = desk.clock
        await desk.pass_time(10 * 365 * 24 * HOUR)
        await desk.history(made["id"])
        clock.advance(-10 * 365 * 24 * HOUR)
        await desk.pass_time(HOUR / 2)
        assert (await desk.schedules.get(None, made["id"])).next_at == "2026-01-05T09:00:00.000Z"
        await desk.pass_time(HOUR / 2)
        ran = [slot.scheduled_at[:4] for slot in await desk.history(made["id"]) if slot.run_status]
        assert ran == ["2036", "2026"]
        assert (await desk.schedules.get(None, once["id"])).next_at is None


async def test_a_time_that_comes_again_because_a_clock_was_set_back_begins_nothing(desk: Desk):
    made = await desk.make(every_seconds=HOUR)
    await desk.pass_time(HOUR)
    await desk.history(made["id"])
    await desk.pass_time(-HOUR)
    assert (await desk.schedules.get(None, made["id"])).next_at == "2026-01-05T09:00:00.000Z"
    await desk.pass_time(HOUR)
    assert len(await desk.history(made["id"])) == 1
    assert await desk.lab.rows("SELECT COUNT(*) FROM runs WHERE trigger = 'schedule'") == [(1,)]


async def test_the_history_is_bounded(settings: Settings):
    bounded = settings.model_copy(deep=True)
    bounded.schedules.history = 3
    async with open_desk(bounded) as desk:
        made = await desk.make(every_seconds=HOUR)
        for _ in range(5):
            await desk.pass_time(HOUR)
            await desk.history(made["id"])
        found = await desk.history(made["id"])
        assert [slot.scheduled_at[11:13] for slot in found] == ["13", "12", "11"]
        await desk.call(action="pause", id=made["id"])
        for _ in range(4):
            desk.clock.advance(1)
            await desk.call(action="run_now", id=made["id"])
            await desk.history(made["id"])
        assert len(await desk.history(made["id"])) == 3


async def test_a_failing_look_does_not_end_the_scheduler(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    failed, again = asyncio.Event(), asyncio.Event()
    scheduler = desk.scheduler()

    async def look() -> None:
        if failed.is_set():
            again.set()
            return
        failed.set()
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(scheduler, "tick", look)
    running = asyncio.create_task(scheduler.run())
    async with asyncio.timeout(PATIENCE_S):
        await failed.wait()
        while not again.is_set():
            desk.schedules.news.set()
            await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
