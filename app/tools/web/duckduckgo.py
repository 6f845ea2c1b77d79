"""Search with DuckDuckGo's page for browsers without scripts; needs no key.

The page is parsed in a sandbox, like every page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from app.core.errors import ToolFailed
from app.core.text import clean
from app.operations.web.protocol import WebAccess
from app.tools.web.page_reader import read_results
from app.tools.web.ports import PageSandbox, SearchResult

_TIMEOUT_S = 10.0
_MAX_BYTES = 1_000_000
# Host whose links contain the address in a parameter.
_THROUGH, _ADDRESS = "/l/", "uddg"
_NOT_NOW = (202, 403, 429)
_HEADERS = {
    "Accept": "text/html",
    "Content-Type": "application/x-www-form-urlencoded",
    # It only answers clients that identify as browsers.
    "User-Agent": "Mozilla/5.0 (compatible; Tollgate/1.0)",
}


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
                headers=_HEADERS,
                body=urlencode(asked).encode(),
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_BYTES,
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
        return _found(await read_results(page, self._rooms), response.url)[:max_results]


def _found(results: Sequence[Mapping[str, str]], base: str) -> list[SearchResult]:
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
