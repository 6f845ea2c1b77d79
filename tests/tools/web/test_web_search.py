"""`web_search`, and each provider by its documented answers."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.config.settings import load_settings
from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.core.errors import ConfigurationError, InvalidArguments, ToolFailed
from app.domain.web import WEB_SEARCH, SearchEngine, SearchResult
from app.operations.web.client import Web
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult
from app.toolkit.services import Services
from app.tools.web.engines import (
    BraveEngine,
    DdgsEngine,
    DuckDuckGoEngine,
    SearxngEngine,
    TavilyEngine,
    search_engine,
)
from app.tools.web.services import SearchService
from app.tools.web.web_search import web_search
from tests.operations.web.site import Site, answer, redirect
from tests.tools.calls import call
from tests.tools.web.conftest import LocalRooms
from tests.tools.web.pages import EngineByHeart

KEY = "tvly-very-secret-key-0123456789"
Make = Callable[[Web, str], SearchEngine]

# The fields of each provider's public reference that matter, and some that do not.
BRAVE = {
    "type": "search",
    "query": {"original": "x", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "The <strong>first</strong> &amp; best",
                "url": "https://a.b/1",
                "description": "About <strong>x</strong> &lt;3",
                "language": "en",
                "meta_url": {"hostname": "a.b"},
            },
            {"title": "Second", "url": "https://a.b/2"},
        ],
    },
}
TAVILY = {
    "query": "x",
    "answer": None,
    "images": [],
    "results": [
        {
            "title": "The first & best",
            "url": "https://a.b/1",
            "content": "About x <3",
            "score": 0.9,
        },
        {"title": "Second", "url": "https://a.b/2", "content": None, "raw_content": None},
    ],
    "response_time": 1.2,
}
SEARXNG = {
    "query": "x",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://a.b/1",
            "title": "The first & best",
            "content": "About x <3",
            "engine": "one",
            "category": "general",
        },
        {"url": "https://a.b/2", "title": "Second", "content": ""},
        {"url": "https://a.b/1", "title": "The first again", "content": "z"},
        {"url": "javascript:alert(1)", "title": "No page", "content": "z"},
    ],
    "answers": [],
    "unresponsive_engines": [["other", "timeout"]],
}
FOUND = [
    SearchResult("The first & best", "https://a.b/1", "About x <3"),
    SearchResult("Second", "https://a.b/2", ""),
]
PROVIDERS: dict[str, tuple[Make, dict[str, Any]]] = {
    "brave": (lambda web, url: BraveEngine(web, KEY, "cn-zh", url), BRAVE),
    "tavily": (lambda web, url: TavilyEngine(web, KEY, url), TAVILY),
    "searxng": (lambda web, url: SearxngEngine(web, url, "cn-zh"), SEARXNG),
}


@pytest.fixture
async def strict_web() -> AsyncIterator[Web]:
    """As it ships: loopback may not be reached but by an operator's address."""
    web = Web(WebSettings(), ManualClock())
    yield web
    await web.aclose()


def _site_of(name: str, site: Site) -> str:
    return f"{site.url}/instance/" if name == "searxng" else site.url


def _path(name: str) -> str:
    return {
        "brave": "/res/v1/web/search?q=a+b%26c&count=2&country=CN&search_lang=zh-hans",
        "tavily": "/search",
        "searxng": "/instance/search?q=a+b%26c&format=json&language=zh",
    }[name]


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_provider_is_asked_and_understood(strict_web: Web, site: Site, name: str):
    make, document = PROVIDERS[name]
    site.pages[_path(name)] = answer(json.dumps(document).encode(), kind="application/json")
    engine = make(strict_web, _site_of(name, site))
    assert list(await engine.search("a b&c", 2)) == FOUND
    [asked] = site.asked
    if name == "brave":
        assert asked.headers["x-subscription-token"] == KEY
    if name == "tavily":
        assert asked.method == "POST"
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert json.loads(asked.body) == {"query": "a b&c", "max_results": 2}


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (answer(f"bad key {KEY}".encode(), "401 Unauthorized"), "provider_refused"),
        (answer(b"{}", "403 Forbidden"), "provider_refused"),
        (answer(b"{}", "429 Too Many Requests"), "rate_limited"),
        (answer(f'{{"error": "{KEY}"}}'.encode(), "500 Broken"), "provider_failed"),
        (answer(b"<html>no json"), "provider_failed"),
        (redirect("http://10.0.0.1/"), "provider_failed"),
        (b"nonsense\r\n\r\n", "provider_failed"),
    ],
)
async def test_a_provider_that_fails_says_no_secret(
    strict_web: Web, site: Site, caplog: pytest.LogCaptureFixture, name: str, raw: bytes, code: str
):
    caplog.set_level(logging.DEBUG, logger="app")
    site.pages[_path(name)] = raw
    engine = PROVIDERS[name][0](strict_web, _site_of(name, site))
    with pytest.raises(ToolFailed) as caught:
        await engine.search("a b&c", 2)
    assert caught.value.details["code"] == code
    said = f"{caught.value.message} {caught.value.details} {caplog.text} {engine!r}"
    assert KEY not in said
    assert "127.0.0.1" not in said


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    "document", [[], {}, {"results": {}, "web": []}, {"results": [1, {}, None]}]
)
async def test_an_answer_without_results_is_none(
    strict_web: Web, site: Site, name: str, document: Any
):
    site.pages[_path(name)] = answer(json.dumps(document).encode())
    engine = PROVIDERS[name][0](strict_web, _site_of(name, site))
    assert list(await engine.search("a b&c", 2)) == []


@pytest.mark.requirement("WEB-01")
async def test_five_results_come_by_default():
    engine = EngineByHeart()
    ctx = ToolContext(tool_call_id="c", operation_id="c", services=Services(**{WEB_SEARCH: engine}))
    result = await call(web_search, ctx, query="cats")
    assert result.data["results"] == [
        {"title": f"cats {number}", "url": f"http://a.b/{number}", "snippet": "about it"}
        for number in range(1, 6)
    ]
    assert str(result.text).startswith('<untrusted source="search by by heart">\n1. cats 1')
    assert result.raw_result == RawResult("table", result.data["results"])
    few = await call(web_search, ctx, query="cats", count=2)
    assert (len(few.data["results"]), engine.asked) == (2, [("cats", 5), ("cats", 2)])
    for wrong in ({"query": " "}, {"query": "x", "max_results": 21}, {"query": "x", "count": 0}):
        with pytest.raises(InvalidArguments):
            await call(web_search, ctx, **wrong)


@pytest.mark.requirement("WEB-05")
async def test_the_search_service_takes_any_engine():
    assert len(await SearchService(EngineByHeart()).search("cats")) == 5


@pytest.mark.requirement("B-27")
def test_the_engine_is_the_one_that_is_configured(strict_web: Web, rooms: LocalRooms):
    def chosen(**settings: Any) -> str | None:
        engine = search_engine(WebSettings(**settings), strict_web, rooms)
        return None if engine is None else engine.name

    searxng, brave, tavily = (
        {"searxng_url": "http://a.b"},
        {"brave_api_key": "k"},
        {"tavily_api_key": "k"},
    )
    assert chosen() == "duckduckgo"
    assert chosen(**brave) == "brave"
    assert chosen(**tavily) == "tavily"
    assert chosen(**searxng, **brave, **tavily) == "searxng"
    assert chosen(**brave, **tavily, search_provider="tavily") == "tavily"
    assert chosen(**brave, search_provider="off") is None
    assert chosen(search_provider="ddgs") == "ddgs"
    with pytest.raises(ValidationError, match="requires brave_api_key"):
        WebSettings(search_provider="brave")


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TOLLGATE_WEB__ALLOW_NETWORKS", "10.1.0.0/16, fd00::/8")
    monkeypatch.setenv("TOLLGATE_WEB__DENY_HOSTS", "*.Bad.test,worse.test.")
    monkeypatch.setenv("TOLLGATE_WEB__BRAVE_API_KEY", KEY)
    web = load_settings(data_dir=tmp_path).web
    assert web.allow_networks == ["10.1.0.0/16", "fd00::/8"]
    assert web.deny_hosts == ["bad.test", "worse.test"]
    assert KEY not in repr(web)
    monkeypatch.setenv("TOLLGATE_WEB__ALLOW_NETWORKS", "10.1.0.1/16")
    with pytest.raises(ConfigurationError, match="is not a network"):
        load_settings(data_dir=tmp_path)


DUCKDUCKGO = """<html><body><div class="result results_links result--ad"><h2 class="result__title">
<a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Bought</a></h2></div>
<div class="result results_links web-result"><h2 class="result__title"><a rel="nofollow"
class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.b%2F1&amp;rut=7">The <b>first</b>
&amp; best</a></h2><a class="result__snippet" href="//x">About <b>x</b> &lt;3</a></div>
<div class="result web-result"><h2><a class="result__a" href="https://a.b/2">Second</a></h2></div>
<div class="result web-result"><a class="result__a" href="https://a.b/1">Again</a></div>
<div class="result web-result"><a class="result__a" href="javascript:alert(1)">No page</a></div>
</body></html>"""


async def test_duckduckgo_is_asked_and_understood(strict_web: Web, site: Site, rooms: LocalRooms):
    site.pages["/html/"] = answer(DUCKDUCKGO.encode())
    engine = DuckDuckGoEngine(strict_web, rooms, site.url, "cn-zh")
    assert list(await engine.search("a b&c", 9)) == FOUND
    [asked] = site.asked
    assert (asked.method, asked.body) == ("POST", b"q=a+b%26c&b=&kl=cn-zh")
    assert len(await engine.search("a b&c", 1)) == 1


async def test_a_hostile_page_of_results_does_not_hold_up_the_service(
    strict_web: Web, site: Site, rooms: LocalRooms
):
    hostile = "<!--" * 50_000 + "<a " * 60_000
    site.pages["/html/"] = answer((DUCKDUCKGO + hostile).encode())
    assert list(await DuckDuckGoEngine(strict_web, rooms, site.url).search("x", 9)) == FOUND


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (answer(b"<html>Unusual activity", "202 Accepted"), "rate_limited"),
        (answer(b"", "403 Forbidden"), "rate_limited"),
        (answer(b"", "500 Broken"), "provider_failed"),
        (redirect("http://10.0.0.1/"), "provider_failed"),
        (b"nonsense\r\n\r\n", "provider_failed"),
    ],
)
async def test_duckduckgo_fails_with_a_reason(
    strict_web: Web, site: Site, rooms: LocalRooms, raw: bytes, code: str
):
    site.pages["/html/"] = raw
    with pytest.raises(ToolFailed) as caught:
        await DuckDuckGoEngine(strict_web, rooms, site.url).search("x", 2)
    assert caught.value.details["code"] == code
    assert "127.0.0.1" not in caught.value.message


async def test_ddgs_says_what_is_missing():
    with pytest.raises(ToolFailed, match="must install it") as caught:
        await DdgsEngine(package="no_such_package_of_ours").search("x", 5)
    assert caught.value.details["code"] == "not_installed"


@pytest.fixture
def ddgs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with the interface of ddgs."""
    package = tmp_path / "like_ddgs"
    package.mkdir()
    (package / "exceptions.py").write_text(
        "class DDGSException(Exception): pass\nclass RatelimitException(DDGSException): pass\n"
    )
    (package / "__init__.py").write_text(
        "from like_ddgs.exceptions import *\n"
        "class DDGS:\n"
        "    def __init__(self, timeout): pass\n"
        "    def text(self, query, region, max_results):\n"
        "        if query == 'none': raise DDGSException('No results found.')\n"
        "        if query == 'often': raise RatelimitException('secret address')\n"
        "        if query == 'broken': raise DDGSException('secret address')\n"
        "        return [{'title': region, 'href': 'http://a.b/', 'body': query}] * max_results\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "like_ddgs"
    for name in ("like_ddgs", "like_ddgs.exceptions"):
        sys.modules.pop(name, None)


async def test_ddgs_searches_as_the_seeds_do(ddgs: str):
    engine = DdgsEngine(package=ddgs)
    assert list(await engine.search("x", 2)) == [SearchResult("cn-zh", "http://a.b/", "x")] * 2
    assert list(await engine.search("none", 2)) == []
    for query, code in (("often", "rate_limited"), ("broken", "provider_failed")):
        with pytest.raises(ToolFailed) as caught:
            await engine.search(query, 2)
        assert (caught.value.details["code"], "secret" in caught.value.message) == (code, False)
