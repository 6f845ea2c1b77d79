"""Deadlines that share a timer end what they should, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from app.execution.deadline import Deadline, Deadlines

SOON_S, LATER_S, NEVER_S = 0.02, 0.04, 3600.0


class Worker:
    """Something that would wait for ever, with a deadline."""

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self.began = asyncio.Event()
        self.deadline: Deadline | None = None
        self.task = asyncio.create_task(self._work(deadlines, seconds))

    async def _work(self, deadlines: Deadlines, seconds: float) -> str:
        task = asyncio.current_task()
        assert task is not None
        self.deadline = deadlines.begin(task, seconds)
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not self.deadline.absorb():
                raise
            return "time is up"
        finally:
            self.deadline.stop()
        return "never"


@pytest.fixture
async def workers() -> AsyncIterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for worker in started:
        worker.task.cancel()
    await asyncio.gather(*(worker.task for worker in started), return_exceptions=True)


@pytest.fixture
def deadlines() -> Deadlines:
    return Deadlines()


def _note(ends: list[tuple[int, float]], number: int, _task: asyncio.Task[str]) -> None:
    ends.append((number, asyncio.get_running_loop().time()))


async def test_each_of_equal_length_comes_to_its_own_end(
    deadlines: Deadlines, workers: list[Worker]
):
    loop = asyncio.get_running_loop()
    ends: list[tuple[int, float]] = []
    begins: list[float] = []
    for number in range(4):
        begins.append(loop.time())
        worker = Worker(deadlines, LATER_S)
        worker.task.add_done_callback(partial(_note, ends, number))
        workers.append(worker)
        # so that their moments differ
        await asyncio.wait({worker.task}, timeout=LATER_S / 8)

    results = await asyncio.gather(*(worker.task for worker in workers))

    assert results == ["time is up"] * 4
    assert [number for number, _ in ends] == [0, 1, 2, 3]
    assert all(at >= begins[number] + LATER_S - 0.002 for number, at in ends)


async def test_one_that_is_stopped_holds_up_nobody(deadlines: Deadlines, workers: list[Worker]):
    first, second = Worker(deadlines, SOON_S), Worker(deadlines, SOON_S)
    workers += [first, second]
    await first.began.wait()
    assert first.deadline is not None
    first.deadline.stop()

    assert await second.task == "time is up"
    assert not first.task.done()


async def test_a_short_one_does_not_wait_for_a_long_one(
    deadlines: Deadlines, workers: list[Worker]
):
    long, short = Worker(deadlines, NEVER_S), Worker(deadlines, SOON_S)
    workers += [long, short]

    assert await short.task == "time is up"
    assert not long.task.done()


async def test_a_length_that_nobody_has_any_more_begins_again(
    deadlines: Deadlines, workers: list[Worker]
):
    for _ in range(3):
        worker = Worker(deadlines, SOON_S)
        workers.append(worker)
        assert await worker.task == "time is up"
    assert not deadlines.lengths


async def test_somebody_elses_cancellation_is_not_taken_for_the_deadlines(
    deadlines: Deadlines, workers: list[Worker]
):
    worker = Worker(deadlines, NEVER_S)
    workers.append(worker)
    await worker.began.wait()
    worker.task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await worker.task


async def test_work_that_swallowed_the_cancellation_is_not_cancelled_afterwards(
    deadlines: Deadlines,
):
    async def swallows() -> str:
        task = asyncio.current_task()
        assert task is not None
        deadline = deadlines.begin(task, SOON_S)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert deadline.expired
        deadline.stop()
        deadline.ended()
        await asyncio.sleep(0)
        return "went on" if not task.cancelling() else "is cancelled"

    assert await asyncio.create_task(swallows()) == "went on"
