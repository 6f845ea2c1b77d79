"""A host is not asked too much at once."""

from __future__ import annotations

import asyncio

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.operations.web.client import Politeness, Web
from tests.operations.web.site import Asked, Internet, Names, Site, answer


async def test_only_so_many_requests_go_to_one_host(
    site: Site, internet: Internet, names: Names, clock: ManualClock
):
    under_way = most = 0
    full, go = asyncio.Event(), asyncio.Event()

    async def counting(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 2:
            full.set()
        await go.wait()
        under_way -= 1
        writer.write(answer(b"x"))

    for number in range(6):
        site.pages[f"/{number}"] = counting
    settings = WebSettings(per_host=2, host_interval_s=0)
    web = Web(settings, clock, resolver=names, network=internet)
    try:
        pages = [web.page(f"http://public.test/{number}") for number in range(6)]
        waiting = asyncio.gather(*pages)
        await full.wait()
        go.set()
        assert [page.body for page in await waiting] == [b"x"] * 6
    finally:
        await web.aclose()
    assert most == 2


async def test_two_starts_are_apart_and_a_quiet_host_is_forgotten(clock: ManualClock):
    politeness = Politeness(clock, per_host=2, interval_s=0.02)
    async with politeness.turn("a"), politeness.turn("a"):
        assert politeness.hosts["a"].next_start == 0.04
    clock.advance(1)
    async with politeness.turn("b"):
        pass
    assert list(politeness.hosts) == ["b"]


async def test_who_gives_up_waiting_leaves_nothing_behind(clock: ManualClock):
    politeness = Politeness(clock, per_host=1, interval_s=0)

    async def wait() -> None:
        async with politeness.turn("a"):
            pass

    async with politeness.turn("a"):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    clock.advance(1)
    async with asyncio.timeout(60):
        await wait()
    assert politeness.hosts.get("a") is None or politeness.hosts["a"].users == 0
