"""Taking turns: a burst is spread over turns of the loop, in order, and nobody is forgotten."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from app.core.loop_pacer import LoopPacer

CROWD = 50


async def test_whoever_comes_alone_does_not_wait():
    turns = LoopPacer()
    for _ in range(3):
        coroutine = turns.next()
        try:
            coroutine.send(None)
        except StopIteration:
            pass
        else:
            raise AssertionError("it waited although nobody was before it")
        await asyncio.sleep(0)


async def test_a_crowd_begins_one_by_one_in_its_order_and_leaves_room_for_others():
    turns, begun, room = LoopPacer(), [], []

    async def member(number: int) -> None:
        await turns.next()
        begun.append(number)

    crowd = [asyncio.create_task(member(number)) for number in range(CROWD)]
    while len(begun) < CROWD:
        await asyncio.sleep(0)
        room.append(len(begun))
    await asyncio.gather(*crowd)
    assert begun == list(range(CROWD))
    steps = [after - before for before, after in pairwise(room)]
    assert max(steps) == 1


async def test_those_who_leave_take_nobody_s_turn_and_stop_nobody():
    turns, begun = LoopPacer(), []

    async def member(number: int) -> None:
        await turns.next()
        begun.append(number)

    crowd = [asyncio.create_task(member(number)) for number in range(CROWD)]
    await asyncio.sleep(0)
    for task in crowd[10:40]:
        task.cancel()
    ends = await asyncio.gather(*crowd, return_exceptions=True)
    assert begun == [*range(10), *range(40, CROWD)]
    assert sum(isinstance(end, asyncio.CancelledError) for end in ends) == 30
    await asyncio.sleep(0)
    await turns.next()
