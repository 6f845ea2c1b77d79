"""Simultaneous callers share a read that began after they came."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.core.shared_reads import SharedReads


class Disk:
    """Value that changes; a read sees it at its start and ends when it is let go."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.gate = asyncio.Event()

    async def read(self) -> int:
        self.reads += 1
        seen = self.value
        await self.gate.wait()
        # Like every read, it ends later than it is let go.
        await asyncio.sleep(0)
        return seen


async def started(*reads: Awaitable[int]) -> list[asyncio.Task[int]]:
    """Start callers; each has reached its wait when this returns."""
    tasks = [asyncio.ensure_future(read) for read in reads]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_callers_during_a_read_share_the_next_one():
    disk, shared = Disk(), SharedReads[int]()
    first = await started(shared.get("a", disk.read))
    disk.value = 1
    later = await started(*(shared.get("a", disk.read) for _ in range(50)))
    assert disk.reads == 1
    disk.gate.set()
    assert await asyncio.gather(*first) == [0]
    assert await asyncio.gather(*later) == [1] * 50
    assert disk.reads == 2


async def test_a_read_that_began_before_the_call_is_never_its_result():
    disk, shared = Disk(), SharedReads[int]()
    (first,) = await started(shared.get("a", disk.read))
    disk.value = 1
    disk.gate.set()
    assert (await shared.get("a", disk.read), await first) == (1, 0)


async def test_keys_are_read_apart():
    disk, shared = Disk(), SharedReads[int]()
    tasks = await started(shared.get("a", disk.read), shared.get("b", disk.read))
    assert disk.reads == 2
    disk.gate.set()
    await asyncio.gather(*tasks)


async def test_after_a_cancelled_read_the_next_caller_reads():
    disk, shared = Disk(), SharedReads[int]()
    (first,) = await started(shared.get("a", disk.read))
    second, third = await started(shared.get("a", disk.read), shared.get("a", disk.read))
    first.cancel()
    await asyncio.wait({first})
    disk.gate.set()
    assert (await second, await third) == (0, 0)
    assert disk.reads == 2


async def test_a_cancelled_caller_leaves_the_read_to_the_others():
    disk, shared = Disk(), SharedReads[int]()
    first, second = await started(shared.get("a", disk.read), shared.get("a", disk.read))
    second.cancel()
    await asyncio.wait({second})
    disk.gate.set()
    assert await first == 0


async def test_an_error_reaches_the_caller_whose_read_failed():
    shared = SharedReads[int]()
    gate = asyncio.Event()

    def ending(error: Exception | None) -> Callable[[], Awaitable[int]]:
        async def read() -> int:
            await gate.wait()
            if error is not None:
                raise error
            return 7

        return read

    tasks = await started(
        shared.get("a", ending(OSError("unreadable"))), shared.get("a", ending(None))
    )
    gate.set()
    with pytest.raises(OSError, match="unreadable"):
        await tasks[0]
    assert await tasks[1] == 7
