"""robots.txt: what it says, and when it is asked for."""

from __future__ import annotations

import pytest

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.core.errors import ToolFailed
from app.operations.web.client import Web
from app.operations.web.robots_cache import parse_robots
from tests.operations.web.site import Internet, Names, Site, answer, redirect

RULES = """
\ufeff# for all
User-agent: *
Disallow: /private
Allow: /private/open
Disallow: /*.pdf$
Disallow:   /a*b*c
Sitemap: http://public.test/map

User-agent: tollgate
User-agent: other
Disallow: /not-you # really
Disallow:

User-Agent: TOLLGATE
Disallow: /nor-here
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        *(("X", "/", True), ("X", "/private", False), ("X", "/private/open/a", True)),
        *(("X", "/a.pdf", False), ("X", "/a.pdf?x", True), ("X", "/a-b-c-d", False)),
        *(("X", "/a-c-b", True), ("X", "/not-you", True), ("Tollgate", "/private", True)),
        *(("Tollgate", "/not-you/x", False), ("Tollgate", "/nor-here", False)),
        *(("other", "/not-you", False), ("other", "/nor-here", True)),
    ],
)
def test_the_longest_rule_of_our_group_decides(agent: str, path: str, allowed):
    assert parse_robots(RULES, agent).allows(path) is allowed


def test_a_hostile_pattern_takes_no_time_that_matters():
    rules = "User-agent: *\n" + "Disallow: /" + "a*" * 5000 + "b$\n"
    assert parse_robots(rules * 40, "X").allows("/" + "a" * 7000) is True


@pytest.mark.parametrize(
    "text", ["", "\0\xff", "Disallow: /", "User-agent *\nDisallow /", ":" * 99]
)
def test_a_file_that_says_nothing_allows_all(text: str):
    assert parse_robots(text, "X").allows("/") is True


async def test_several_pages_are_fetched_as_robots_allow(web: Web, site: Site, clock: ManualClock):
    site.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /no", kind="text/plain")
    site.pages["/yes"] = site.pages["/no"] = answer(b"page")
    assert (await web.page("http://public.test/yes", crawling=True)).body == b"page"
    with pytest.raises(ToolFailed) as caught:
        await web.page("http://public.test/no", crawling=True)
    assert caught.value.details["code"] == "robots_refused"
    assert (await web.page("http://public.test/no")).body == b"page"
    assert site.paths == ["/robots.txt", "/yes", "/no"]
    clock.advance(3601)
    await web.page("http://public.test/yes", crawling=True)
    assert site.paths[3:] == ["/robots.txt", "/yes"]


async def test_a_redirect_does_not_lead_past_robots(web: Web, site: Site):
    site.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /no")
    site.pages["/yes"] = redirect("/no")
    with pytest.raises(ToolFailed) as caught:
        await web.page("http://public.test/yes", crawling=True)
    assert caught.value.details["code"] == "robots_refused"
    assert "/no" not in site.paths


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        (answer(b"", "404 Not Found"), True),
        (answer(b"", "403 Forbidden"), True),
        (answer(b"", "500 Broken"), False),
        (answer(b"", "429 Too Many"), False),
        (b"HTTP/1.1 nonsense\r\n\r\n", False),
        (redirect("/robots.txt"), True),
    ],
)
async def test_robots_that_cannot_be_read(web: Web, site: Site, robots: bytes, allowed):
    site.pages["/robots.txt"], site.pages["/"] = robots, answer(b"page")
    if allowed:
        assert (await web.page("http://public.test/", crawling=True)).ok
        return
    with pytest.raises(ToolFailed) as caught:
        await web.page("http://public.test/", crawling=True)
    assert caught.value.details["code"] == "robots_refused"


@pytest.mark.parametrize(("setting", "asked"), [("always", True), ("never", False)])
async def test_the_operator_says_when_robots_count(
    site: Site, internet: Internet, names: Names, clock: ManualClock, setting, asked
):
    settings = WebSettings(respect_robots=setting, host_interval_s=0)
    web = Web(settings, clock, resolver=names, network=internet)
    site.pages["/"] = answer(b"page")
    try:
        for crawling in (False, True):
            await web.page("http://public.test/", crawling=crawling)
    finally:
        await web.aclose()
    assert ("/robots.txt" in site.paths) is asked
