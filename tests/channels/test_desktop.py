"""Desktop tasks: claimed once, started once, finished once; taken back only before that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.channels.channels import Channels, assemble_channels
from app.channels.desktop import DesktopTaskRequest, new_task_id
from app.channels.operator_messages import (
    Ability,
    Claim,
    Done,
    Failed,
    OperatorProgress,
    TaskForOperator,
)
from app.channels.operators import TokenHolder
from app.channels.task_rows import DesktopTask, TaskFilter
from app.config.channels import ChannelSettings
from app.core.clock import ManualClock
from app.core.errors import Busy, Conflict, NotFound, ToolFailed
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from tests.channels.operator_lab import GROUP, channel, claim_of, operator
from tests.support.database import new_database

LONG_S = 60.0


class World:
    """Channels on a real database, with a clock that stands still."""

    def __init__(self, db: SqliteWriter, clock: ManualClock, **settings: Any) -> None:
        self.db = db
        self.clock = clock
        self.changes = ConfigVersions(db)
        self.settings = ChannelSettings(**settings)
        self.channels: Channels = assemble_channels(
            self.settings,
            db,
            clock,
            audit=AuditLog(db, clock, Redactor()),
            changes=self.changes,
        )
        self.calls: list[asyncio.Task[DesktopTask]] = []
        self.reported: list[OperatorProgress] = []

    @property
    def desk(self) -> Any:
        return self.channels.operators

    def order(self, **fields: Any) -> DesktopTaskRequest:
        usual = {
            "task_id": new_task_id(),
            "channel_id": "shop",
            "model_channel_id": None,
            "app_id": "weixin",
            "action_type": "send-text",
            "target": GROUP,
            "text": "你好",
            "watermark": "none",
            "per_minute": 1000,
            "operation_id": "op_1",
        }
        return DesktopTaskRequest(**{**usual, **fields})

    async def call(self, **fields: Any) -> tuple[str, asyncio.Task[DesktopTask]]:
        """A call that waits for a task which is stored."""

        async def report(progress: OperatorProgress) -> None:
            self.reported.append(progress)

        order = self.order(**fields)
        work = self.channels.desktop.run_and_wait(order, report=report, wait_s=LONG_S)
        stored = asyncio.Event()
        with self.desk.news.listening(stored.set):
            calling = asyncio.create_task(work)
            self.calls.append(calling)
            async with asyncio.timeout(60):
                await stored.wait()
        return order.task_id, calling

    async def statuses(self, task_id: str) -> list[str]:
        found = await self.channels.desktop.page(TaskFilter(), limit=200, before=None)
        return [task.status for task in found if task.id == task_id]

    async def claim(self, **who: Any) -> TaskForOperator:
        task = await self.desk.claim(operator(**who))
        assert task is not None
        found: TaskForOperator = task
        return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    path = tmp_path / "tollgate.db"
    new_database(path)
    db = SqliteWriter(path)
    await db.start()
    made = World(db, ManualClock(), lease_s=30)
    await channel(made.channels)
    try:
        yield made
    finally:
        for calling in made.calls:
            calling.cancel()
        await asyncio.gather(*made.calls, return_exceptions=True)
        await made.channels.desktop.close()
        await db.close()


async def test_a_task_goes_to_one_operator_only(world: World):
    task_id, _ = await world.call()
    got = await asyncio.gather(
        *(world.desk.claim(operator(f"desk-{number}")) for number in range(10))
    )
    assert [task.task_id for task in got if task is not None] == [task_id]


async def test_the_oldest_comes_first_and_one_operator_holds_one(world: World):
    first, _ = await world.call()
    world.clock.advance(1)
    second, _ = await world.call(operation_id="op_2")
    held = await world.claim()
    assert held.task_id == first
    with pytest.raises(Busy):
        await world.desk.claim(operator())
    assert [task.task_id for task in await world.desk.waiting(operator("desk-2"))] == [second]
    named = await world.desk.claim(operator("desk-2"), second)
    assert named.task_id == second
    assert await world.desk.claim(operator("desk-3"), first) is None


async def test_an_operator_sees_only_what_it_needs(world: World):
    await world.call(agent_id="secret-agent", user_id="ann", session_id="ses_1")
    held = await world.claim()
    assert set(held.model_dump()) == {
        *("task_id", "claim_id", "app_id", "action_type", "target", "text"),
        *("expires_at", "lease_s"),
    }
    assert "claim_id" not in (await world.channels.desktop.get(held.task_id)).text


@pytest.mark.parametrize(
    "who",
    [
        {"apps": (Ability(app_id="weixin", actions=("read",)),)},
        {"apps": (Ability(app_id="qq", actions=("send-text",)),)},
        {"user_id": "eve"},
    ],
)
async def test_a_task_is_only_for_those_who_can_and_may(world: World, who: dict[str, Any]):
    changed = {"weixinReply": {"enabled": True, "targets": [GROUP], "operators": ["deb"]}}
    await world.channels.store.change("shop", {"config": changed}, actor="admin")
    await world.call()
    assert await world.desk.waiting(operator(**who)) == []
    assert await world.desk.claim(operator(**who)) is None
    assert (await world.claim()).target == GROUP


async def test_what_the_channel_no_longer_allows_is_given_to_nobody(world: World):
    await world.call()
    await world.channels.store.change("shop", {"enabled": False}, actor="admin")
    assert await world.desk.claim(operator()) is None
    await world.channels.store.remove("shop", actor="admin")
    assert await world.desk.claim(operator()) is None


async def test_a_finished_task_wakes_its_call_with_the_result(world: World):
    _, calling = await world.call()
    held = await world.claim()
    await world.desk.start(operator(), claim_of(held))
    await world.desk.progress(
        operator(), claim_of(held), OperatorProgress(stage="a\x1b", message="b")
    )
    await world.desk.complete(operator(), claim_of(held), Done(verified=True, detail="ok\x1b[2J"))
    task = await calling
    assert (task.status, task.operator, task.claim_id) == ("succeeded", "desk-1", None)
    assert task.result == '{"verified":true,"detail":"ok\\\\x1b[2J"}'
    assert [(item.stage, item.message) for item in world.reported] == [("a\\x1b", "b")]


async def test_no_word_about_a_task_counts_without_its_claim(world: World):
    _, calling = await world.call()
    held = await world.claim()
    mine = claim_of(held)
    forged = [
        Claim(task_id=held.task_id, claim_id="clm_" + "0" * 24),
        Claim(task_id="dtk_" + "0" * 24, claim_id=held.claim_id),
    ]
    thief = TokenHolder(user_id="eve", key="tok_eve")
    attempts = [(operator(), claim) for claim in forged] + [(thief, mine)]
    for holder, claim in attempts:
        for word in (
            world.desk.start(holder, claim),
            world.desk.beat(holder, claim),
            world.desk.progress(holder, claim, OperatorProgress(stage="x")),
            world.desk.complete(holder, claim, Done()),
            world.desk.fail(holder, claim, Failed(code="driver_failed")),
            world.desk.release(holder, claim),
        ):
            with pytest.raises(NotFound, match="You have not claimed this task"):
                await word
    assert (await world.channels.desktop.get(held.task_id)).status == "claimed"
    assert not calling.done()
    assert world.reported == []


async def test_nothing_is_complete_that_was_not_started_and_nothing_starts_twice(world: World):
    await world.call()
    mine = claim_of(await world.claim())
    with pytest.raises(Conflict, match="Start the task"):
        await world.desk.complete(operator(), mine, Done())
    await world.desk.start(operator(), mine)
    with pytest.raises(Conflict, match="already been started"):
        await world.desk.start(operator(), mine)
    with pytest.raises(Conflict, match="cannot be released"):
        await world.desk.release(operator(), mine)
    await world.desk.complete(operator(), mine, Done())
    for word in (world.desk.complete(operator(), mine, Done()), world.desk.start(operator(), mine)):
        with pytest.raises(NotFound):
            await word


async def test_an_operator_that_leaves_gives_back_what_it_has_not_started(world: World):
    task_id, calling = await world.call()
    mine = claim_of(await world.claim())
    await world.desk.left(operator())
    assert await world.statuses(task_id) == ["queued"]
    with pytest.raises(NotFound):
        await world.desk.start(operator(), mine)
    again = await world.claim(name="desk-2", key="tok_b")
    assert again.claim_id != mine.claim_id
    assert not calling.done()


async def test_a_lost_operator_that_had_started_leaves_an_unknown_outcome(world: World):
    task_id, calling = await world.call()
    mine = claim_of(await world.claim())
    await world.desk.start(operator(), mine)
    await world.desk.left(operator())
    world.clock.advance(29)
    await world.channels.desktop.sweep()
    assert await world.statuses(task_id) == ["running"]
    world.clock.advance(2)
    await world.channels.desktop.sweep()
    task = await calling
    assert (task.status, task.code) == ("failed", "outcome_unknown")
    # It is never given to anybody again, and its operator comes too late.
    assert await world.desk.claim(operator("desk-2")) is None
    with pytest.raises(NotFound):
        await world.desk.complete(operator(), mine, Done())


async def test_a_sign_of_life_keeps_a_task(world: World):
    task_id, _ = await world.call()
    mine = claim_of(await world.claim())
    for _ in range(3):
        world.clock.advance(15)
        await world.desk.beat(operator(), mine)
        await world.channels.desktop.sweep()
    assert await world.statuses(task_id) == ["claimed"]


async def test_a_claim_without_a_sign_of_life_goes_back(world: World):
    task_id, _ = await world.call()
    await world.claim()
    world.clock.advance(31)
    await world.channels.desktop.sweep()
    assert await world.statuses(task_id) == ["queued"]
    assert (await world.channels.desktop.get(task_id)).operator is None


async def test_a_task_whose_time_is_over_is_not_started_any_more(world: World):
    task_id, calling = await world.call()
    mine = claim_of(await world.claim())
    world.clock.advance(LONG_S + 1)
    with pytest.raises(Conflict, match="time limit of the task has passed"):
        await world.desk.start(operator(), mine)
    await world.channels.desktop.sweep()
    assert (await calling).status == "expired"
    assert await world.statuses(task_id) == ["expired"]
    with pytest.raises(NotFound):
        await world.desk.start(operator(), mine)


async def test_an_administrator_takes_back_what_nobody_has_started(world: World):
    task_id, calling = await world.call()
    mine = claim_of(await world.claim())
    assert (await world.channels.desktop.cancel(task_id, actor="root")).status == "cancelled"
    assert (await calling).error == "Cancelled by root"
    with pytest.raises(NotFound):
        await world.desk.start(operator(), mine)
    with pytest.raises(Conflict, match="already cancelled"):
        await world.channels.desktop.cancel(task_id, actor="root")
    with pytest.raises(NotFound):
        await world.channels.desktop.cancel("dtk_none", actor="root")


async def test_what_an_operator_has_started_is_not_taken_back(world: World):
    task_id, calling = await world.call()
    await world.desk.start(operator(), claim_of(await world.claim()))
    with pytest.raises(Conflict, match="already sending it"):
        await world.channels.desktop.cancel(task_id, actor="root")
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await world.channels.desktop.close()
    assert await world.statuses(task_id) == ["running"]


async def test_a_call_whose_time_ends_while_an_operator_sends_says_that_it_runs(world: World):
    order = world.order()

    async def report(progress: OperatorProgress) -> None:
        world.reported.append(progress)

    async def work() -> None:
        news = asyncio.Event()
        with world.desk.news.listening(news.set):
            await news.wait()
        await world.desk.start(operator(), claim_of(await world.claim()))

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    waiting = world.channels.desktop.run_and_wait(order, report=report, wait_s=0.2)
    task = await waiting
    await working
    assert (task.status, task.finished_at) == ("running", None)


async def test_so_many_tasks_may_wait(world: World):
    crowded = replace(world.order(), task_id=new_task_id())
    world.channels = World(world.db, world.clock, max_queued=1).channels
    await world.call()
    with pytest.raises(ToolFailed, match="Too many desktop tasks") as failed:
        await world.channels.desktop.run_and_wait(crowded, report=_ignore, wait_s=1)
    assert failed.value.details["code"] == "desktop_busy"


async def _ignore(_: OperatorProgress) -> None:
    return None


async def test_a_call_hears_of_an_operator_at_another_process(world: World):
    task_id, calling = await world.call()
    other = World(world.db, world.clock)
    await other.channels.store.load()
    mine = claim_of(await other.claim())
    await other.desk.start(operator(), mine)
    await other.desk.complete(operator(), mine, Done())
    assert not calling.done()
    await world.changes.poll()
    assert (await calling).id == task_id


async def test_an_operator_hears_of_a_task_of_another_process(world: World):
    other = World(world.db, world.clock)
    woken = asyncio.Event()
    with other.desk.news.listening(woken.set):
        await world.call()
        await other.changes.poll()
        assert woken.is_set()


async def test_old_tasks_are_forgotten_and_open_ones_are_not(world: World):
    old, _ = await world.call()
    await world.channels.desktop.cancel(old, actor="root")
    world.clock.advance(31 * 86_400)
    fresh, _ = await world.call(operation_id="op_2")
    await world.channels.desktop.sweep()
    assert (await world.statuses(old), await world.statuses(fresh)) == ([], ["queued"])


async def test_every_step_of_a_task_stands_in_the_audit(world: World):
    task_id, calling = await world.call()
    mine = claim_of(await world.claim())
    await world.desk.start(operator(), mine)
    await world.desk.complete(operator(), mine, Done())
    await calling
    rows = await world.db.transact(
        lambda reading: reading.fetch(
            "SELECT kind, actor FROM audit WHERE subject = ? ORDER BY seq", (task_id,)
        )
    )
    assert rows == [
        ("desktop.queued", "system"),
        ("desktop.claimed", "deb"),
        ("desktop.running", "deb"),
        ("desktop.succeeded", "deb"),
    ]
