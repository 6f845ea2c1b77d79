"""Web services of the original design, usable without the tools: search, fetch, extract.

Each accepts its dependencies, so that a test or another tool can replace them; by default it uses
those of the installation of the running tool. Methods of the original API are awaited in an async
handler, and called directly in a synchronous one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar

from app.core.errors import TollgateError, ToolFailed
from app.core.text import clean
from app.domain.web import (
    EVENT_LOOP,
    PAGE_SANDBOX,
    WEB_ACCESS,
    WEB_SEARCH,
    PageSandbox,
    SearchEngine,
)
from app.operations.web.protocol import MAX_REDIRECTS, TIMEOUT_S, WebAccess, WebResponse
from app.toolkit.context import current_context
from app.tools.web.charset import decode
from app.tools.web.json_lines import lined
from app.tools.web.kinds import Kind, kind_of
from app.tools.web.page_reader import MAX_LINKS, HtmlMode, ReadPage, read_html, read_pdf

ExtractMode = Literal["markdown", "text", "links", "structured", "raw"]
ExtractType = Literal["text", "links", "structured"]

MAX_CHARS = 50_000
MAX_PAGES = 10
AT_ONCE = 5
STRUCTURED_CHARS = 5000
STRUCTURED_LINKS = 20
_SEED_LINKS = 50
_MAX_PRETTY = 2_000_000
_LITTLE_TEXT = 500
_LEADS_ON = "The page redirects to {url}, which is not fetched: {why}"
_NEEDS_SCRIPT = "The page has little text and may require JavaScript"

Returned = TypeVar("Returned")


def _in_both(method: Callable[..., Coroutine[Any, Any, Returned]]) -> Callable[..., Any]:
    """Wrap a method for use both from async handlers and from threads."""

    @wraps(method)
    def called(*given: Any, **named: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            loop: asyncio.AbstractEventLoop = _here(EVENT_LOOP)
            return asyncio.run_coroutine_threadsafe(method(*given, **named), loop).result()
        return method(*given, **named)

    return called


OnPage = Callable[[int, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PageOrder:
    """Form in which pages are requested.

    Attributes:
        mode: requested content.
        max_chars: maximum characters of text.
        crawling: the request is for several pages.
    """

    mode: ExtractMode = "text"
    max_chars: int = MAX_CHARS
    crawling: bool = False


@dataclass(slots=True)
class _Arrived:
    """Fetched and parsed page.

    Attributes:
        details: fields of `web_fetch` about its content.
        leads_to: target of the page's own redirect, or empty.
    """

    response: WebResponse
    kind: Kind
    media_type: str
    details: dict[str, Any] = field(default_factory=dict)
    leads_to: str = ""


class SearchService:
    """Search with any engine."""

    def __init__(self, engine: SearchEngine | None = None) -> None:
        """Create the service.

        Raises:
            ToolFailed: `not_available`: no engine is given or configured.
        """
        self.engine: SearchEngine = engine or _here(WEB_SEARCH)

    @_in_both
    async def search(self, query: str, max_results: int = 5) -> list[dict[str, str]]:
        """Return at most `max_results` results as `{title, url, snippet}`.

        Raises:
            ToolFailed: see `SearchEngine.search`.
        """
        found = await self.engine.search(query, max_results)
        return [result.to_dict() for result in found[:max_results]]


class ContentExtractor:
    """Content of HTML, extracted in a sandbox."""

    def __init__(self, page: object = "", *, rooms: PageSandbox | None = None) -> None:
        """Create the extractor.

        Args:
            page: default HTML of the methods: text, or an object that `str` converts, such as a
                soup. A `PageSandbox` is accepted here, too.
        """
        given = rooms
        if given is None and isinstance(page, PageSandbox) and hasattr(type(page), "open"):
            given, page = page, ""
        self._html = str(page)
        self._given = given

    @property
    def _rooms(self) -> PageSandbox:
        return self._given or _here(PAGE_SANDBOX)

    @_in_both
    async def extract_text(self, html: str | None = None, url: str = "") -> str:
        """Return the text of the content, one line per block.

        Raises:
            ToolFailed: see `read_html`; `not_available` outside a call.
        """
        html = self._html if html is None else html
        page = await read_html(html, url, "text", self._rooms, max_chars=len(html) + 1000)
        return page.text

    @_in_both
    async def extract_links(self, html: str | None = None, url: str = "") -> list[dict[str, str]]:
        """Return `{text, href}` of each linked address, without links within the page."""
        html = self._html if html is None else html
        return list((await read_html(html, url, "links", self._rooms, max_chars=0)).links)

    @_in_both
    async def extract_structured(self, html: str | None = None, url: str = "") -> dict[str, Any]:
        """Return `title`, `description`, the beginning of `text`, the first `links`, and more."""
        page = await read_html(
            self._html if html is None else html,
            url,
            "structured",
            self._rooms,
            max_chars=STRUCTURED_CHARS,
            max_links=STRUCTURED_LINKS,
        )
        return _structured(page)


class FetchService:
    """Fetches pages and returns their content."""

    def __init__(
        self,
        web: WebAccess | None = None,
        rooms: PageSandbox | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """Create the service.

        Args:
            timeout: seconds per page, including redirects; again for each redirect by the page
                itself.

        Raises:
            ToolFailed: `not_available`: a dependency is not given, and there is no current call.
        """
        self.timeout = timeout
        self._web: WebAccess = web or _here(WEB_ACCESS)
        self._rooms: PageSandbox = rooms or _here(PAGE_SANDBOX)
        self._extractor = ContentExtractor(rooms=self._rooms)

    @_in_both
    async def fetch(self, url: str, extract_type: ExtractType = "text") -> dict[str, Any]:
        """Return a page in the original format, see `seed_shape`.

        Raises:
            ToolFailed: see `page`.
        """
        return seed_shape(await self.page(url, PageOrder(extract_type)))

    @_in_both
    async def fetch_batch(
        self, urls: Sequence[str], extract_type: ExtractType = "text"
    ) -> dict[str, Any]:
        """Return several pages in order, in the original format: `{results, total}`.

        Raises:
            ToolFailed: `too_many_pages`.
        """
        found = await self.pages(urls, PageOrder(extract_type, crawling=True))
        results = [page if "error" in page else seed_shape(page) for page in found]
        return {"results": results, "total": len(results)}

    async def pages(
        self, urls: Sequence[str], order: PageOrder, on_page: OnPage | None = None
    ) -> list[dict[str, Any]]:
        """Return each page like `page`; `{url, error, code}` of failed ones.

        Args:
            on_page: called after each page with the number done and the total.

        Raises:
            ToolFailed: `too_many_pages`.
        """
        if len(urls) > MAX_PAGES:
            raise ToolFailed(
                f"Maximum {MAX_PAGES} pages can be fetched at once", code="too_many_pages"
            )
        places = asyncio.Semaphore(AT_ONCE)
        done = 0

        async def one(url: str) -> dict[str, Any]:
            nonlocal done
            async with places:
                try:
                    return await self.page(url, order)
                except TollgateError as error:
                    code = str(error.details.get("code", error.code))
                    return {"url": url, "error": error.message, "code": code}
                finally:
                    done += 1
                    if on_page is not None:
                        await on_page(done, len(urls))

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(url)) for url in urls]
        return [task.result() for task in tasks]

    async def page(self, url: str, order: PageOrder) -> dict[str, Any]:
        """Return one page, with the keys of `web_fetch`.

        Raises:
            ToolFailed: see `WebAccess.page`; `http_error`, `unsupported_type`, `page_unreadable`,
                `pdf_unreadable`, `sandbox_unavailable`.
        """
        arrived, warning = await self._arrived(url, order)
        details = dict(arrived.details)
        text, length = details.pop("text", ""), details.pop("length", 0)
        data: dict[str, Any] = {
            "url": url,
            "final_url": arrived.response.url,
            "status": arrived.response.status,
            "title": "",
            "extract_mode": order.mode,
            "media_type": arrived.media_type,
            **details,
            "truncated": length > len(text),
            "length": length,
            "text": text,
        }
        if arrived.kind == "html" and order.mode in ("markdown", "text") and length < _LITTLE_TEXT:
            warning = warning or _NEEDS_SCRIPT
        return data | {"warning": warning} if warning else data

    async def _arrived(self, url: str, order: PageOrder) -> tuple[_Arrived, str]:
        """Return the final page, and a warning if it is unknown.

        Pages may redirect by themselves; requests for the source do not follow.
        """
        arrived = await self._read(await self._load(url, order), order)
        seen = {url, arrived.response.url}
        for _ in range(MAX_REDIRECTS):
            target = arrived.leads_to
            if not target or target in seen:
                break
            try:
                _check_safe(arrived.response.url, target)
                arrived = await self._read(await self._load(target, order), order)
            except ToolFailed as error:
                return arrived, _LEADS_ON.format(url=target[:500], why=error.message[:300])
            seen |= {target, arrived.response.url}
        return arrived, ""

    async def _load(self, url: str, order: PageOrder) -> WebResponse:
        response = await self._web.page(url, timeout_s=self.timeout, crawling=order.crawling)
        if not response.ok:
            raise ToolFailed(
                f"{response.url[:200]!r} responded with status {response.status}",
                code="http_error",
                status=response.status,
            )
        return response

    async def _read(self, response: WebResponse, order: PageOrder) -> _Arrived:
        said = response.header("content-type") or ""
        kind, media_type = kind_of(response.body, said)
        arrived = _Arrived(response, kind, media_type)
        if kind == "binary":
            raise ToolFailed(
                f"{response.url[:200]!r} is {media_type[:100]!r}, not text",
                code="unsupported_type",
            )
        if kind == "pdf":
            arrived.details = await self._pdf(response, order)
            return arrived
        source, charset = await asyncio.to_thread(decode, response.body, said)
        if kind == "html" and order.mode != "raw":
            await self._html(source, arrived, order)
            return arrived
        extractor = "raw"
        if kind == "json" and order.mode != "raw" and len(source) <= _MAX_PRETTY:
            source, extractor = await asyncio.to_thread(lined, source), "json"
        source = clean(source)
        arrived.details = {
            "extractor": extractor,
            "charset": charset,
            "text": source[: order.max_chars],
            "length": len(source),
        }
        return arrived

    async def _html(self, html: str, arrived: _Arrived, order: PageOrder) -> None:
        is_structured = order.mode == "structured"
        mode: HtmlMode = "text" if order.mode == "raw" else order.mode
        page = await read_html(
            html,
            arrived.response.url,
            mode,
            self._rooms,
            max_chars=STRUCTURED_CHARS if is_structured else order.max_chars,
            max_links=STRUCTURED_LINKS if is_structured else MAX_LINKS,
        )
        arrived.leads_to = page.leads_to
        if is_structured:
            arrived.details = {"extractor": mode, **_structured(page)}
            return
        arrived.details = {
            "title": page.title,
            "description": page.description,
            "canonical": page.canonical,
            "language": page.language,
            "extractor": mode,
            "text": page.text,
            "length": page.length,
        }
        if mode == "links":
            arrived.details["links"] = list(page.links)

    async def _pdf(self, response: WebResponse, order: PageOrder) -> dict[str, Any]:
        pages = await read_pdf(response.body, response.url, order.max_chars, self._rooms)
        text = "\n\n".join(pages.texts)
        return {
            "extractor": "pdf",
            "total_pages": pages.total,
            "shown_pages": pages.end,
            "text": text[: order.max_chars],
            "length": len(text),
        }


def _here(name: str) -> Any:
    """Return a service of the installation of the running tool.

    Raises:
        ToolFailed: `not_available`.
    """
    context = current_context()
    service = None if context is None else context.services.get(name)
    if service is None:
        raise ToolFailed(
            f"{name} is only available while a tool runs in a service that provides it",
            code="not_available",
        )
    return service


def _check_safe(url: str, target: str) -> None:
    """Refuse targets that redirects may not have either; the web access checks the rest.

    Raises:
        ToolFailed: `redirect_refused`.
    """
    if url.startswith("https:") and target.startswith("http:"):
        raise ToolFailed("it redirects from https to http", code="redirect_refused")


def _structured(page: ReadPage) -> dict[str, Any]:
    return {
        "title": page.title,
        "description": page.description,
        "canonical": page.canonical,
        "language": page.language,
        "headings": list(page.headings),
        "text": page.text,
        "length": page.length,
        "links": list(page.links),
    }


def seed_shape(page: dict[str, Any]) -> dict[str, Any]:
    """Return a page in the format of the original `fetch_page`.

    `{url, text}`, or `{url, links}` with the first 50, or `{url, title, description, text,
    links}` with 5000 characters and 20 links.
    """
    url, mode = page["final_url"], page["extract_mode"]
    links = page.get("links", [])
    if mode == "links":
        return {"url": url, "links": links[:_SEED_LINKS]}
    if mode == "structured":
        return {
            "url": url,
            "title": page["title"],
            "description": page.get("description", ""),
            "text": page["text"][:STRUCTURED_CHARS],
            "links": links[:STRUCTURED_LINKS],
        }
    return {"url": url, "text": page["text"]}
