"""`crawl_batch`, `FetchService` and the sandbox that pages are read in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.catalog.seed_api import CalculatorService
from app.core.errors import ToolFailed
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.scratch import ScratchSandbox
from app.operations.web.client import Web
from app.operations.web.protocol import WebResponse
from app.toolkit.context import Progress, ToolContext
from app.tools.web.crawl_batch import crawl_batch
from app.tools.web.page_reader import read_html
from app.tools.web.services import AT_ONCE, ContentExtractor, FetchService
from tests.operations.web.site import Asked, Site, answer
from tests.tools.calls import call
from tests.tools.web.conftest import LocalRooms
from tests.tools.web.pages import PAGE, PagesByHeart


@pytest.mark.requirement("WEB-03")
async def test_pages_come_in_order_and_one_failure_spoils_nothing(ctx: ToolContext, site: Site):
    site.pages["/a"], site.pages["/b"] = answer(b"<p>page a"), answer(b"<p>page b")
    reported: list[Progress] = []

    async def report(progress: Progress) -> None:
        reported.append(progress)

    ctx.report = report
    urls = [f"{site.url}/b", "http://10.0.0.1/", f"{site.url}/none", f"{site.url}/a", "no address"]
    result = await call(crawl_batch, ctx, urls=urls)
    assert result.success
    assert result.data["total"] == 5
    pages = result.data["results"]
    assert [page["url"] for page in pages] == urls
    assert [page.get("text") for page in pages] == ["page b", None, None, "page a", None]
    assert [page.get("code") for page in pages] == [
        *(None, "address_refused", "http_error", None, "invalid_url")
    ]
    assert [(progress.current, progress.total) for progress in reported] == [
        (done, 5) for done in range(1, 6)
    ]
    assert "page b" in str(result.text)
    assert "not fetched" in str(result.text)


@pytest.mark.requirement("WEB-03")
async def test_more_than_ten_pages_are_refused(ctx: ToolContext, site: Site):
    result = await call(crawl_batch, ctx, urls=[f"{site.url}/a"] * 11)
    assert result.error == "Maximum 10 pages can be fetched at once"
    assert site.asked == []


async def test_robots_are_obeyed(ctx: ToolContext, site: Site):
    site.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /", kind="text/plain")
    result = await call(crawl_batch, ctx, urls=[f"{site.url}/a"])
    assert result.data["results"][0]["code"] == "robots_refused"
    assert site.paths == ["/robots.txt"]


async def test_five_pages_are_fetched_at_once(rooms: LocalRooms):
    started, go = asyncio.Queue[str](), asyncio.Event()

    class Waiting(PagesByHeart):
        async def page(self, url: str, **options: Any) -> WebResponse:
            started.put_nowait(url)
            await go.wait()
            return await super().page(url, **options)

    urls = [f"http://a.b/{number}" for number in range(8)]
    service = FetchService(Waiting({}), rooms)
    batch = asyncio.create_task(service.fetch_batch(urls))
    first = [await started.get() for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    assert (first, started.empty()) == (urls[:5], True)
    go.set()
    assert (await batch)["total"] == 8


@pytest.mark.requirement("WEB-05")
async def test_the_services_are_separate_and_take_what_they_are_given(rooms: LocalRooms):
    web = PagesByHeart({"http://a.b/": PAGE.encode()})
    service = FetchService(web, rooms, timeout=7.0)
    assert FetchService(web, rooms).timeout == 30.0
    page = await service.fetch("http://a.b/")
    extractor = ContentExtractor(rooms)
    assert page == {
        "url": "http://a.b/",
        "text": await extractor.extract_text(PAGE, "http://a.b/"),
    }
    links = await service.fetch("http://a.b/", "links")
    assert links["links"] == await extractor.extract_links(PAGE, "http://a.b/")
    structured = await extractor.extract_structured(PAGE, "http://a.b/")
    found = await service.fetch("http://a.b/", "structured")
    assert found == {key: structured[key] for key in found if key != "url"} | {"url": "http://a.b/"}
    batch = await service.fetch_batch(["http://a.b/", "http://none.b/"])
    assert batch["total"] == 2
    assert batch["results"][0] == page
    assert batch["results"][1]["code"] == "fetch_failed"
    assert web.asked[0] == ("http://a.b/", 7.0, False)
    assert web.asked[-1] == ("http://none.b/", 7.0, True)
    assert CalculatorService().calculate("(2+3)*4") == 20
    with pytest.raises(ToolFailed):
        CalculatorService().calculate("abs(1)")


async def test_a_page_is_read_in_the_real_sandbox_and_its_reader_is_ended(web: Web, site: Site):
    site.pages["/"] = answer(PAGE.encode())
    async with Sandbox() as sandbox:
        rooms = ScratchSandbox(sandbox)
        page = await FetchService(web, rooms).fetch(f"{site.url}/", "text")
        assert page["text"].startswith("A story\n")
        # The time of parsing grows with the square of the nesting.
        deep = "<div>" * 1_000_000
        with pytest.raises(ToolFailed) as caught:
            await read_html(deep, "http://a.b/", "text", rooms, max_chars=100, wall_s=1.0)
        assert caught.value.details["code"] in {"timeout", "limit_reached"}


async def test_a_page_that_is_never_answered_leaves_no_task(ctx: ToolContext, site: Site):
    reached = asyncio.Event()

    async def never(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path != "/robots.txt":
            reached.set()
            await asyncio.Event().wait()
        writer.write(answer(b"", "404 None"))

    site.pages["/robots.txt"] = site.pages["/a"] = never
    before = asyncio.all_tasks()
    crawling = asyncio.create_task(call(crawl_batch, ctx, urls=[f"{site.url}/a"]))
    await reached.wait()
    crawling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await crawling
    assert asyncio.all_tasks() - before - site.tasks == set()
