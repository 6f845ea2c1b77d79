"""Search by DuckDuckGo's page for browsers without scripts; it needs no key.

The page is read by the parser of the standard library, which takes time in step with its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from app.core.errors import ToolFailed
from app.core.text import clean
from app.operations.web.protocol import WebAccess
from app.tools.web.ports import Found

_TIMEOUT_S = 10.0
_MAX_BYTES = 1_000_000
_MOST = 100
# Where a link stands for the address in one of its parameters.
_THROUGH, _ADDRESS = "/l/", "uddg"
_NOT_NOW = (202, 403, 429)
_TITLE, _SNIPPET, _ADVERTISED = "result__a", "result__snippet", "result--ad"
_HEADERS = {
    "Accept": "text/html",
    "Content-Type": "application/x-www-form-urlencoded",
    # It answers what names itself as a browser does.
    "User-Agent": "Mozilla/5.0 (compatible; Tollgate/1.0)",
}


class DuckDuckGoEngine:
    """`POST /html/` with the query as a form."""

    name = "duckduckgo"

    def __init__(self, web: WebAccess, base_url: str, region: str | None = None) -> None:
        self._web = web
        self._base = base_url.rstrip("/")
        self._region = region or ""

    async def search(self, query: str, max_results: int) -> Sequence[Found]:
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
            raise ToolFailed(
                "The search provider duckduckgo cannot be reached", code=code
            ) from None
        if response.status in _NOT_NOW:
            raise ToolFailed(
                "The search provider duckduckgo is asked too often from here; wait, or the operator"
                " must set up another provider (web.search_provider)",
                code="rate_limited",
            )
        if not response.ok:
            raise ToolFailed(
                f"The search provider duckduckgo answers with status {response.status}",
                code="provider_failed",
            )
        page = _Results(response.url)
        page.feed(response.body.decode("utf-8", "replace"))
        page.close()
        return page.found()[:max_results]


@dataclass
class _Result:
    url: str
    is_advertised: bool
    title: list[str] = field(default_factory=list)
    snippet: list[str] = field(default_factory=list)


class _Results(HTMLParser):
    """What a page of results lists."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._results: list[_Result] = []
        self._advertised = False
        self._into: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        if tag == "div" and "result" in classes:
            self._advertised = _ADVERTISED in classes
        elif tag == "a" and _TITLE in classes and len(self._results) < _MOST:
            result = _Result(_target(given.get("href") or "", self._url), self._advertised)
            self._results.append(result)
            self._into = result.title
        elif _SNIPPET in classes and self._results:
            self._into = self._results[-1].snippet

    def handle_endtag(self, tag: str) -> None:
        if tag in ("a", "div"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)

    def found(self) -> list[Found]:
        """Each page once, without what is advertised."""
        pages: dict[str, Found] = {}
        for one in self._results:
            if one.url and not one.is_advertised and one.url not in pages:
                pages[one.url] = Found(_words(one.title, 300), one.url, _words(one.snippet, 1000))
        return list(pages.values())


def _target(href: str, base: str) -> str:
    """The page that a link leads to; empty where it leads to none."""
    try:
        url = urljoin(base, href)
        parts = urlsplit(url)
        if parts.path == _THROUGH:
            url = parse_qs(parts.query, max_num_fields=20).get(_ADDRESS, [""])[0]
    except ValueError:
        return ""
    return clean(url)[:2000] if url.startswith(("http://", "https://")) else ""


def _words(pieces: list[str], most: int) -> str:
    return clean(" ".join("".join(pieces).split()))[:most]
