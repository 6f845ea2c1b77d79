"""How many workers there are, who gets one, and what is left of them.

Slots go to whoever has waited longest, and none is lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from app.agents.delegation.frames import ModelAnswer, TaskFinished
from app.agents.delegation.ports import WorkerScope
from app.core.errors import ToolFailed
from app.workers.pool import ProcessSlots, WorkerPool
from tests.operations.conftest import names, open_descriptors
from tests.operations.sandbox.procs import alive, until_gone
from tests.workers.conftest import OpenPool, begin, execute
from tests.workers.programs import ENDS_AT_ONCE, NEVER_READY, WAITS


async def until_warm(pool: WorkerPool, place: WorkerScope) -> int:
    """The process that waits for a task of `place`, once it does."""
    await pool.settled()
    return pool.warm(place)[0]


async def until_waiting(pool: WorkerPool, count: int) -> None:
    """Return when so many tasks wait for a slot."""
    while True:
        if pool.waiting == count:
            return
        await asyncio.sleep(0)


async def until_started(data: Path) -> Path:
    """Where private folders are, once a worker has its room and its temporary folder."""
    while True:
        for base in bases(data):
            if len(names(base)) == 3:
                return base
        await asyncio.sleep(0)


def bases(data: Path) -> list[Path]:
    return list((data / "tmp").glob("tollgate-tmp-*"))


async def test_twenty_takers_share_the_processes_in_the_order_they_came(
    open_pool: OpenPool, place: WorkerScope
):
    pool = open_pool(WAITS, processes=3)
    order: list[int] = []
    running: set[int] = set()
    most = 0

    async def use(number: int) -> None:
        nonlocal most
        async with pool.take(place) as worker:
            order.append(number)
            running.add(worker.pid)
            most = max(most, sum(alive(pid) for pid in running))
            await asyncio.sleep(0)
        assert not alive(worker.pid)

    async with asyncio.timeout(120):
        await asyncio.gather(*(use(number) for number in range(20)))

    assert most <= 3
    assert len(running) == 20  # none was used twice
    assert sorted(order) == list(range(20))
    # a slow start may be overtaken by many, but nobody begins before all but two of those
    # before it have ended
    assert all(number - at < 3 for at, number in enumerate(order))


async def test_one_process_is_taken_in_exactly_the_order_they_came(
    open_pool: OpenPool, place: WorkerScope
):
    pool = open_pool(WAITS, processes=1)
    order: list[int] = []

    async def use(number: int) -> None:
        async with pool.take(place):
            order.append(number)

    async with asyncio.timeout(120):
        await asyncio.gather(*(use(number) for number in range(8)))

    assert order == list(range(8))


async def test_who_gives_up_waiting_takes_no_slot_along(open_pool: OpenPool, place: WorkerScope):
    pool = open_pool(WAITS, processes=1)
    entered = asyncio.Event()

    async def use() -> None:
        async with pool.take(place):
            entered.set()

    async with asyncio.timeout(60):
        async with pool.take(place):
            waiting = [asyncio.create_task(use()) for _ in range(3)]
            await until_waiting(pool, 3)
            waiting[0].cancel()
            waiting[1].cancel()
            await asyncio.wait(waiting[:2])
            assert not entered.is_set()
        await waiting[2]

    assert entered.is_set()
    assert pool.waiting == 0


async def test_a_start_that_is_cancelled_leaves_nothing(
    open_pool: OpenPool, place: WorkerScope, data: Path
):
    pool = open_pool(NEVER_READY, processes=1)
    async with asyncio.timeout(60):
        for _ in range(2):  # the second one finds the slot free
            starting = asyncio.create_task(pool.take(place).__aenter__())
            base = await until_started(data)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            assert names(base) == [".lock"]


async def test_a_worker_that_does_not_start_says_how_and_frees_its_slot(
    open_pool: OpenPool, place: WorkerScope, caplog: pytest.LogCaptureFixture
):
    pool = open_pool(ENDS_AT_ONCE, processes=1)
    for _ in range(3):
        with pytest.raises(ToolFailed, match="it exited with code 7") as caught:
            await pool.take(place).__aenter__()
        assert caught.value.details["code"] == "worker_lost"

    assert "no such module" in caplog.text
    assert "no such module" not in str(caught.value)


async def test_the_next_of_a_place_finds_a_warm_one_and_each_is_used_once(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    pool = open_pool(warm=1)
    async with asyncio.timeout(60):
        async with pool.take(place) as first:
            await begin(first, root)
            waiting = await until_warm(pool, place)
        async with pool.take(place) as second:
            await begin(second, root)
            read = await execute(second, "read_file", {"path": "a.txt"})
            await second.send(
                ModelAnswer(round=1, content=[{"type": "text", "text": "x"}], stop_reason="end")
            )
            assert await anext(second.frames()) == TaskFinished(reason="answered")

    assert read.success
    assert second.pid == waiting != first.pid
    assert not alive(first.pid)
    assert not alive(second.pid)


async def test_with_one_process_the_next_one_starts_when_the_task_is_over(
    open_pool: OpenPool, place: WorkerScope
):
    pool = open_pool(WAITS, warm=1, processes=1)
    async with asyncio.timeout(60):
        async with pool.take(place):
            await pool.settled()
            assert pool.warm(place) == []
        waiting = await until_warm(pool, place)
        async with pool.take(place) as worker:
            assert worker.pid == waiting


async def test_a_warm_one_that_died_is_passed_over(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    pool = open_pool(WAITS, warm=1)
    async with asyncio.timeout(60):
        async with pool.take(place):
            dead = await until_warm(pool, place)
        os.kill(dead, signal.SIGKILL)
        await until_gone(dead)
        async with pool.take(place) as worker:
            assert worker.pid != dead
            assert alive(worker.pid)


async def test_a_warm_one_of_a_folder_that_was_replaced_is_passed_over(
    open_pool: OpenPool, root: Path
):
    pool, place = open_pool(warm=1), WorkerScope(str(root), ("src",))
    async with asyncio.timeout(60):
        async with pool.take(place):
            stale = await until_warm(pool, place)
        move(root / "src")
        (root / "src").mkdir()
        (root / "src" / "main.py").write_text("new")
        async with pool.take(place) as worker:
            await begin(worker, root)
            read = await execute(worker, "read_file", {"path": "src/main.py"})

    assert worker.pid != stale
    assert read.success
    assert "new" in (read.text or "")


async def test_warm_ones_give_way_to_tasks_of_other_places(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    pool, other = open_pool(WAITS, warm=1, processes=2), WorkerScope(str(root / "docs"))
    async with asyncio.timeout(60):
        async with pool.take(place):
            warm = await until_warm(pool, place)
            async with pool.take(other):
                assert not alive(warm)


async def test_a_warm_start_that_gives_way_frees_its_slot(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    pool, other = open_pool(WAITS, warm=1, processes=2), WorkerScope(str(root / "docs"))
    async with asyncio.timeout(60):
        # In both rounds the warm one is still starting, or has not begun to.
        for _ in range(2):
            async with pool.take(place), pool.take(other):
                assert pool.warm(place) == []
        await pool.settled()
        async with pool.take(place), pool.take(other):
            pass


async def test_a_warm_start_that_fails_is_logged_and_frees_its_slot(
    open_pool: OpenPool, place: WorkerScope, root: Path, caplog: pytest.LogCaptureFixture
):
    pool = open_pool(WAITS, warm=1, processes=1)
    async with asyncio.timeout(60):
        async with pool.take(place):
            move(root)
        await pool.settled()
        assert pool.warm(place) == []
        async with pool.take(WorkerScope()):
            pass

    assert "cannot keep a worker warm" in caplog.text


def move(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


async def test_only_the_places_used_last_have_warm_ones(open_pool: OpenPool, tmp_path: Path):
    pool = open_pool(WAITS, warm=1, processes=12)
    places = []
    async with asyncio.timeout(120):
        for number in range(6):
            folder = tmp_path / f"place{number}"
            folder.mkdir()
            places.append(WorkerScope(str(folder)))
            async with pool.take(places[-1]):
                await until_warm(pool, places[-1])
    kept = [bool(pool.warm(place)) for place in places]

    assert kept == [False, False, True, True, True, True]


async def test_nothing_is_left_when_the_pool_is_closed(
    open_pool: OpenPool, place: WorkerScope, data: Path
):
    pool = open_pool(WAITS, warm=2, processes=4)
    async with pool.take(place) as warming_up:
        pass
    before = open_descriptors()
    async with asyncio.timeout(60):
        context = pool.take(place)
        worker = await context.__aenter__()
        pids = [warming_up.pid, worker.pid, await until_warm(pool, place)]
        await pool.close()
        left = [pid for pid in pids if alive(pid)]
        with pytest.raises(ToolFailed, match="stopping") as caught:
            await pool.take(place).__aenter__()
        await context.__aexit__(None, None, None)

    assert left == []
    assert caught.value.details["code"] == "worker_lost"
    assert open_descriptors() <= before
    assert [names(base) for base in bases(data)] == [[".lock"]]


async def test_who_comes_later_does_not_overtake():
    slots = ProcessSlots(1)
    await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    slots.give_back()

    assert not slots.try_take()
    await waiting
    slots.give_back()
    assert slots.try_take()


async def test_a_slot_that_comes_as_its_taker_gives_up_goes_on():
    slots = ProcessSlots(1)
    await slots.take()
    first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    slots.give_back()
    first.cancel()  # it has the slot, and does not know yet

    with pytest.raises(asyncio.CancelledError):
        await first
    async with asyncio.timeout(60):
        await second
    assert slots.waiting == 0
    slots.give_back()
    assert slots.try_take()
    assert not slots.try_take()
