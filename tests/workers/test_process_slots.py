"""Slots go to whoever has waited longest, and none is lost."""

from __future__ import annotations

import asyncio

import pytest

from app.workers.process_slots import ProcessSlots


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
