"""Bodies that come slowly: how many of them, and of whom."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message

from app.api.rest.raw_bodies import RawBodies
from app.core.errors import RateLimited, TooLarge


class Sender:
    """Sends a body once it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_read = asyncio.Event()
        self.sends = asyncio.Event()

    async def _receive(self) -> Message:
        self.is_read.set()
        await self.sends.wait()
        return {"type": "http.request", "body": self.name.encode(), "more_body": False}

    async def read_by(self, bodies: RawBodies, *, max_bytes: int = 100) -> bytes:
        request = Request({"type": "http", "headers": []}, self._receive)
        return await bodies.read(request, sender=self.name, max_bytes=max_bytes)


async def slow(bodies: RawBodies, *names: str) -> tuple[list[Sender], list[asyncio.Task[bytes]]]:
    """Senders whose bodies are being read."""
    senders = [Sender(name) for name in names]
    reading = [asyncio.create_task(sender.read_by(bodies)) for sender in senders]
    for sender in senders:
        await sender.is_read.wait()
    return senders, reading


def bodies(seconds: float = 30.0) -> RawBodies:
    return RawBodies("A body", "bodies", at_once=4, each=2, seconds=seconds)


async def test_one_sender_leaves_places_to_others():
    shared = bodies()
    senders, reading = await slow(shared, "ann", "ann")

    with pytest.raises(RateLimited, match="Too many bodies at the same time"):
        await Sender("ann").read_by(shared)
    others, read_of_others = await slow(shared, "bob", "eve")
    with pytest.raises(RateLimited, match="Too many bodies at the same time"):
        await Sender("dan").read_by(shared)

    for sender in (*senders, *others):
        sender.sends.set()
    assert await asyncio.gather(*reading, *read_of_others) == [b"ann", b"ann", b"bob", b"eve"]


async def test_a_place_is_free_again_however_the_reading_ended():
    shared = bodies(seconds=0.01)
    for _ in range(3):
        with pytest.raises(RateLimited, match="not arrive in time"):
            await Sender("ann").read_by(shared)
        _, (given_up,) = await slow(shared, "ann")
        given_up.cancel()
        with pytest.raises((asyncio.CancelledError, RateLimited)):
            await given_up
        large = Sender("ann")
        large.sends.set()
        with pytest.raises(TooLarge):
            await large.read_by(shared, max_bytes=2)
    quick = Sender("ann")
    quick.sends.set()
    assert await quick.read_by(shared) == b"ann"
