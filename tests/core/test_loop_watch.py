"""Code that blocks the event loop is named, and stopped where a signal can reach it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Event, Thread

import pytest

from app.core.loop_watch import Blockage, BlockedTheLoop, LoopWatch, foreign


@asynccontextmanager
async def watching(stop_s: float = 0.1) -> AsyncIterator[tuple[LoopWatch, asyncio.Queue[Blockage]]]:
    found: asyncio.Queue[Blockage] = asyncio.Queue()
    watch = LoopWatch(found.put_nowait, notice_s=0.05, stop_s=stop_s)
    watch.start()
    try:
        yield watch, found
    finally:
        watch.close()


def spin() -> None:
    while True:
        pass


def stubborn() -> None:
    while True:
        with suppress(Exception):
            Event().wait(600)


@pytest.mark.parametrize("block", [lambda: Event().wait(600), spin, stubborn])
async def test_code_of_others_that_blocks_is_named_and_stopped(block: Callable[[], None]):
    async with watching() as (watch, found), asyncio.timeout(60):
        with (
            pytest.raises(BlockedTheLoop, match="tool slow blocked the whole service"),
            foreign("tool slow"),
        ):
            block()
        blockage = await found.get()
    assert (blockage.name, blockage.was_stopped, blockage.is_over) == ("tool slow", True, True)
    assert blockage.at.rpartition(":")[0] == __file__
    assert blockage in watch.blockages


async def test_a_task_that_such_code_began_is_named_too():
    async def inner() -> None:
        spin()

    async with watching() as (_, found), asyncio.timeout(60):
        with foreign("tool slow"):
            task = asyncio.create_task(inner())
        with pytest.raises(BlockedTheLoop):
            await task
        assert (await found.get()).name == "tool slow"


async def test_our_own_code_is_never_interrupted():
    async with watching(stop_s=0) as (_, found), asyncio.timeout(60):
        ended = time.monotonic() + 0.5
        while time.monotonic() < ended:
            pass
        blockage = await found.get()
    assert (blockage.name, blockage.was_stopped) == (None, False)


async def test_who_awaits_blocks_nobody():
    async with watching(stop_s=0) as (watch, _):
        with foreign("tool quick"):
            await asyncio.to_thread(Event().wait, 0.3)
    assert not [item for item in watch.blockages if item.name]


def test_beside_the_main_thread_it_is_noticed_and_not_stopped():
    seen: list[Blockage] = []

    async def block() -> None:
        async with watching(stop_s=0) as (_, found), asyncio.timeout(60):
            with foreign("tool slow"):
                Event().wait(0.5)
            seen.append(await found.get())

    thread = Thread(target=asyncio.run, args=(block(),))
    thread.start()
    thread.join()
    assert [item.was_stopped for item in seen] == [False]


async def test_the_signal_is_given_back():
    before = signal.getsignal(signal.SIGURG)
    async with watching():
        assert signal.getsignal(signal.SIGURG) is not before
    assert signal.getsignal(signal.SIGURG) is before
