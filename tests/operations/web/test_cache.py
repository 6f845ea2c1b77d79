"""Pages are kept as their servers allow, and asked for again when they may have changed."""

from __future__ import annotations

import pytest

from app.core.clock import ManualClock
from app.operations.web.cache import PageCache
from app.operations.web.client import Web
from app.operations.web.raw_response import RawResponse
from tests.operations.web.site import Site, answer

URL = "http://public.test"


async def test_a_fresh_page_is_not_asked_for_again(web: Web, site: Site, clock: ManualClock):
    site.pages["/"] = answer(b"one", Cache_Control="max-age=60")
    first = await web.page(URL)
    second = await web.page(f"{URL}/#part")
    assert (first.reused, second.reused, second.body) == (False, True, b"one")
    clock.advance(61)
    site.pages["/"] = answer(b"two")
    assert (await web.page(URL)).body == b"two"
    assert len(site.asked) == 2


async def test_a_page_that_has_not_changed_is_not_sent_again(
    web: Web, site: Site, clock: ManualClock
):
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    site.pages["/"] = answer(b"one", ETag='"v1"', Last_Modified=date, Cache_Control="no-cache")
    await web.page(URL)
    site.pages["/"] = (
        b'HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: "v1"\r\n\r\n'
    )
    again = await web.page(URL)
    assert (again.reused, again.status, again.body) == (True, 200, b"one")
    asked = site.asked[1].headers
    assert (asked["if-none-match"], asked["if-modified-since"]) == ('"v1"', date)
    assert (await web.page(URL)).body == b"one"
    assert len(site.asked) == 2
    clock.advance(61)
    site.pages["/"] = answer(b"two", ETag='"v2"')
    assert (await web.page(URL)).body == b"two"


async def test_requests_of_ours_are_never_answered_from_the_cache(web: Web, site: Site):
    site.pages["/"] = answer(b"one", Cache_Control="max-age=60")
    await web.page(URL)
    site.pages["/"] = answer(b"two")
    response = await web.request("GET", URL)
    assert (response.reused, response.body) == (False, b"two")


async def test_304_to_a_question_that_was_not_asked_is_no_page(web: Web, site: Site):
    site.pages["/"] = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    assert (await web.page(URL)).ok is False


@pytest.mark.parametrize(
    "headers",
    [
        {"cache-control": "no-store, max-age=60"},
        {"cache-control": "private, max-age=60"},
        {"cache-control": 'private="x", max-age=60'},
        {"cache-control": "max-age=60", "vary": "*"},
        {"cache-control": "max-age=0"},
        {"cache-control": "max-age=60", "age": "61"},
        {"expires": "0"},
        {"expires": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"},
        {"cache-control": "max-age=" + "9" * 40},
        {},
    ],
)
def test_what_may_not_be_kept_is_not_kept(clock: ManualClock, headers: dict[str, str]):
    cache = PageCache(clock, 1 << 20)
    cache.put("u", RawResponse(200, tuple(headers.items()), b"x"))
    assert cache.get("u") is None


def test_an_error_is_not_kept_and_takes_the_old_page_away(clock: ManualClock):
    cache = PageCache(clock, 1 << 20)
    fresh = (("cache-control", "max-age=60"),)
    cache.put("u", RawResponse(200, fresh, b"x"))
    assert cache.get("u") is not None
    cache.put("u", RawResponse(500, fresh, b"x"))
    assert cache.get("u") is None


def test_expires_counts_from_the_date_of_the_answer(clock: ManualClock):
    cache = PageCache(clock, 1 << 20)
    headers = (
        ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("expires", "Wed, 21 Oct 2015 07:29:00 GMT"),
    )
    cache.put("u", RawResponse(200, headers, b"x"))
    kept = cache.get("u")
    assert kept is not None
    assert cache.is_fresh(kept)
    clock.advance(60)
    assert not cache.is_fresh(kept)


def test_the_cache_has_its_room_and_gives_up_what_is_used_least(clock: ManualClock):
    cache = PageCache(clock, 100_000)
    fresh = (("cache-control", "max-age=60"),)
    for name in "abcde":
        cache.put(name, RawResponse(200, fresh, b"x" * 20_000))
        cache.get("a")
    assert [name for name in "abcde" if cache.get(name) is not None] == ["a", "c", "d", "e"]
    cache.put("large", RawResponse(200, fresh, b"x" * 50_000))
    assert cache.get("large") is None
    off = PageCache(clock, 0)
    off.put("a", RawResponse(200, fresh, b"x"))
    assert off.get("a") is None
