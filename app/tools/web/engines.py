"""Search engines: SearXNG, Brave and Tavily, each through its public API.

Keys are sent in headers only, and only results of a response are passed on.
"""

from __future__ import annotations

import asyncio
import html
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import orjson

from app.config.web import WebSettings
from app.core.errors import ToolFailed
from app.core.text import clean
from app.domain.web import PageSandbox, SearchEngine, SearchResult
from app.operations.web.protocol import NO_HEADERS, WebAccess, WebResponse
from app.tools.web.page_reader import read_results

BRAVE_URL = "https://api.search.brave.com"
TAVILY_URL = "https://api.tavily.com"
_TIMEOUT_S = 10.0
_MAX_BYTES = 4_000_000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_SPACES = re.compile(r"\s+")

_DDGS_TIMEOUT_S = 10
_DDGS_REGION = "cn-zh"

_DUCKDUCKGO_TIMEOUT_S = 10.0
_DUCKDUCKGO_BYTES = 1_000_000
# Path of its redirects, and their parameter with the address of the result.
_THROUGH, _ADDRESS = "/l/", "uddg"
_NOT_NOW = (202, 403, 429)
_DUCKDUCKGO_HEADERS = {
    "Accept": "text/html",
    "Content-Type": "application/x-www-form-urlencoded",
    # It only answers clients that identify as browsers.
    "User-Agent": "Mozilla/5.0 (compatible; Tollgate/1.0)",
}


class DdgsEngine:
    """Engine of the original design. It sends its own requests, to hosts of its own choice."""

    name = "ddgs"

    def __init__(self, region: str | None = None, package: str = "ddgs") -> None:
        self._region = region or _DDGS_REGION
        self._package = package

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        ddgs = self._import()

        def ask() -> list[dict[str, Any]]:
            engine = ddgs.DDGS(timeout=_DDGS_TIMEOUT_S)
            return list(engine.text(query, region=self._region, max_results=max_results))

        return await _ddgs_results(ask, _ddgs_failures(ddgs))

    def _import(self) -> Any:
        try:
            return importlib.import_module(self._package)
        except ImportError:
            raise ToolFailed(
                f"web.search_provider is ddgs, but the package {self._package!r} is "
                "not installed: the operator must install it, or set another provider",
                code="not_installed",
            ) from None


def _ddgs_failures(ddgs: Any) -> tuple[type[Exception], ...]:
    exceptions = importlib.import_module(f"{ddgs.__name__}.exceptions")
    return (exceptions.DDGSException, OSError, ValueError)


async def _ddgs_results(
    ask: Callable[[], list[dict[str, Any]]], failures: tuple[type[Exception], ...]
) -> list[SearchResult]:
    try:
        items = await asyncio.to_thread(ask)
    except failures as error:
        if "no results" in str(error).lower():
            return []
        code = "rate_limited" if "ratelimit" in type(error).__name__.lower() else "provider_failed"
        raise ToolFailed(
            f"The search provider ddgs failed: {type(error).__name__}", code=code
        ) from None
    return [
        SearchResult(*(clean(str(item.get(key, "")))[:2000] for key in ("title", "href", "body")))
        for item in items
    ]


# Search with DuckDuckGo's page for browsers without scripts; needs no key.
#
# The page is parsed in a sandbox, like every page.


class DuckDuckGoEngine:
    """Engine that sends `POST /html/` with the query as a form."""

    name = "duckduckgo"

    def __init__(
        self, web: WebAccess, rooms: PageSandbox, base_url: str, region: str | None = None
    ) -> None:
        self._web = web
        self._rooms = rooms
        self._base = base_url.rstrip("/")
        self._region = region or ""

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        asked = {"q": query, "b": "", "kl": self._region}
        try:
            response = await self._web.request(
                "POST",
                f"{self._base}/html/",
                headers=_DUCKDUCKGO_HEADERS,
                body=urlencode(asked).encode(),
                timeout_s=_DUCKDUCKGO_TIMEOUT_S,
                max_bytes=_DUCKDUCKGO_BYTES,
                trusted=self._base,
            )
        except ToolFailed as error:
            code = "timeout" if error.details.get("code") == "timeout" else "provider_failed"
            raise ToolFailed("The search provider duckduckgo is unreachable", code=code) from None
        if response.status in _NOT_NOW:
            raise ToolFailed(
                "The search provider duckduckgo limits requests from this address; "
                "wait, or the operator must configure another provider "
                "(web.search_provider)",
                code="rate_limited",
            )
        if not response.ok:
            raise ToolFailed(
                f"The search provider duckduckgo responded with status {response.status}",
                code="provider_failed",
            )
        page = response.body.decode("utf-8", "replace")
        return _each_once(await read_results(page, self._rooms), response.url)[:max_results]


def _each_once(results: Sequence[Mapping[str, str]], base: str) -> list[SearchResult]:
    """Return each page once."""
    pages: dict[str, SearchResult] = {}
    for one in results:
        url = _target(one["href"], base)
        if url and url not in pages:
            pages[url] = SearchResult(_words(one["title"], 300), url, _words(one["snippet"], 1000))
    return list(pages.values())


def _target(href: str, base: str) -> str:
    """Return the target page of a link; empty if there is none."""
    try:
        url = urljoin(base, href)
        parts = urlsplit(url)
        if parts.path == _THROUGH:
            url = parse_qs(parts.query, max_num_fields=20).get(_ADDRESS, [""])[0]
    except ValueError:
        return ""
    return clean(url)[:2000] if url.startswith(("http://", "https://")) else ""


def _words(text: str, most: int) -> str:
    return clean(" ".join(text.split()))[:most]


def search_engine(settings: WebSettings, web: WebAccess, rooms: PageSandbox) -> SearchEngine | None:
    """Return the configured engine, or None.

    Args:
        rooms: sandboxes to parse responses that are pages.
    """
    region = settings.search_region
    match settings.provider:
        case "searxng":
            assert settings.searxng_url is not None
            return SearxngEngine(web, settings.searxng_url, region)
        case "brave":
            assert settings.brave_api_key is not None
            return BraveEngine(web, settings.brave_api_key.get_secret_value(), region)
        case "tavily":
            assert settings.tavily_api_key is not None
            return TavilyEngine(web, settings.tavily_api_key.get_secret_value())
        case "duckduckgo":
            return DuckDuckGoEngine(web, rooms, settings.duckduckgo_url, region)
        case "ddgs":
            return DdgsEngine(region)
    return None


class BraveEngine:
    """Engine that sends `GET /res/v1/web/search`; the key in `X-Subscription-Token`."""

    name = "brave"

    def __init__(
        self, web: WebAccess, key: str, region: str | None = None, base_url: str = BRAVE_URL
    ) -> None:
        self._api = _Api(web, self.name, base_url, {"X-Subscription-Token": key})
        country, _, language = (region or "").partition("-")
        self._region = {"country": country.upper(), "search_lang": _brave_language(language)}

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        asked = {"q": query, "count": str(max_results), **self._region}
        answer = await self._api.get("/res/v1/web/search", asked)
        return _results(_dict(answer.get("web")).get("results"), "description", max_results)


class TavilyEngine:
    """Engine that sends `POST /search` with JSON; the key as a bearer token."""

    name = "tavily"

    def __init__(self, web: WebAccess, key: str, base_url: str = TAVILY_URL) -> None:
        self._api = _Api(web, self.name, base_url, {"Authorization": f"Bearer {key}"})

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        asked = {"query": query, "max_results": max_results}
        answer = await self._api.post("/search", asked)
        return _results(answer.get("results"), "content", max_results)


class SearxngEngine:
    """Engine that sends `GET /search?format=json` to the operator's instance."""

    name = "searxng"

    def __init__(self, web: WebAccess, base_url: str, region: str | None = None) -> None:
        self._api = _Api(web, self.name, base_url, {})
        self._language = (region or "").partition("-")[2]

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        asked = {"q": query, "format": "json", "language": self._language}
        answer = await self._api.get("/search", asked)
        return _results(answer.get("results"), "content", max_results)


class _Api:
    """Requests to one provider, at an address configured by the operator or built in."""

    def __init__(
        self, web: WebAccess, name: str, base_url: str, headers: Mapping[str, str]
    ) -> None:
        self._web = web
        self._name = name
        self._base = base_url.rstrip("/")
        self._headers = {"Accept": "application/json", **headers}

    async def get(self, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
        query = urlencode({name: value for name, value in asked.items() if value})
        return await self._send("GET", f"{path}?{query}")

    async def post(self, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        content = {"Content-Type": "application/json"}
        return await self._send("POST", path, content, orjson.dumps(asked))

    async def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes | None = None,
    ) -> dict[str, Any]:
        try:
            response = await self._web.request(
                method,
                self._base + path,
                headers={**self._headers, **headers},
                body=body,
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_BYTES,
                trusted=self._base,
            )
        except ToolFailed as error:
            code = "timeout" if error.details.get("code") == "timeout" else "provider_failed"
            # Its message contains an address that is private to the operator.
            raise ToolFailed(
                f"The search provider {self._name} is unreachable", code=code
            ) from None
        if not response.ok:
            raise self._refusal(response)
        try:
            return _dict(orjson.loads(response.body))
        except orjson.JSONDecodeError:
            raise ToolFailed(
                f"The search provider {self._name} did not return JSON", code="provider_failed"
            ) from None

    def _refusal(self, response: WebResponse) -> ToolFailed:
        status = response.status
        if status == 429:
            return ToolFailed(
                f"The search provider {self._name} limits requests; wait", code="rate_limited"
            )
        if status in (401, 403):
            fix = (
                "the operator must add json to search.formats of its settings"
                if self._name == SearxngEngine.name
                else f"the operator must set TOLLGATE_WEB__{self._name.upper()}_API_KEY"
            )
            return ToolFailed(
                f"The search provider {self._name} refused the service: {fix}",
                code="provider_refused",
            )
        return ToolFailed(
            f"The search provider {self._name} responded with status {status}",
            code="provider_failed",
        )


def _results(items: Any, snippet: str, most: int) -> list[SearchResult]:
    found: dict[str, SearchResult] = {}
    for item in items if isinstance(items, list) else ():
        url = _dict(item).get("url")
        if isinstance(url, str) and url.startswith(("http://", "https://")) and url not in found:
            found[url] = SearchResult(
                plain(item.get("title"), 300), clean(url)[:2000], plain(item.get(snippet), 1000)
            )
    return list(found.values())[:most]


def plain(text: Any, most: int) -> str:
    """Return the text of a result, without the engines' markup of matched words."""
    if not isinstance(text, str):
        return ""
    bare = html.unescape(_MARKUP.sub("", text[: most * 8]))
    return clean(_SPACES.sub(" ", bare).strip())[:most]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _brave_language(language: str) -> str:
    """Return Brave's language code: Chinese is distinguished by script, Japanese has a different
    name.
    """
    return {"zh": "zh-hans", "ja": "jp"}.get(language, language)
