"""The seeds' services of the web, apart from the tools: searching, fetching, extracting.

Each may be given what it needs, so that a test, or another tool, can give it something else;
without, it takes what the installation has whose tool is running. What the seeds call is
awaited in an async handler, and called as it is in one that is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar

from app.core.errors import TollgateError, ToolFailed
from app.core.text import clean
from app.operations.web.protocol import MAX_REDIRECTS, TIMEOUT_S, WebAccess, WebResponse
from app.toolkit.context import current_context
from app.tools.web.charset import decode
from app.tools.web.json_lines import lined
from app.tools.web.kinds import Kind, kind_of
from app.tools.web.page_reader import MAX_LINKS, HtmlMode, ReadPage, read_html, read_pdf
from app.tools.web.ports import (
    EVENT_LOOP,
    PAGE_SANDBOX,
    WEB_ACCESS,
    WEB_SEARCH,
    PageSandbox,
    SearchEngine,
)

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
    """A method that an async handler awaits, and that one in a thread gets the answer of."""

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
    """How pages are wanted.

    Attributes:
        mode: what of them.
        max_chars: of text.
        crawling: they are several.
    """

    mode: ExtractMode = "text"
    max_chars: int = MAX_CHARS
    crawling: bool = False


@dataclass(slots=True)
class _Arrived:
    """A page that was fetched and read.

    Attributes:
        details: what `web_fetch` says of its content.
        leads_to: the address that it sends its reader on to; empty where it sends nobody.
    """

    response: WebResponse
    kind: Kind
    media_type: str
    details: dict[str, Any] = field(default_factory=dict)
    leads_to: str = ""


class SearchService:
    """Searches with whatever engine it is given."""

    def __init__(self, engine: SearchEngine | None = None) -> None:
        """Bind it.

        Raises:
            ToolFailed: `not_available`: no engine is given, and none is configured here.
        """
        self.engine: SearchEngine = engine or _here(WEB_SEARCH)

    @_in_both
    async def search(self, query: str, max_results: int = 5) -> list[dict[str, str]]:
        """Results as `{title, url, snippet}`, at most `max_results`.

        Raises:
            ToolFailed: as `SearchEngine.search`.
        """
        found = await self.engine.search(query, max_results)
        return [result.to_dict() for result in found[:max_results]]


class ContentExtractor:
    """What HTML says, read in a confined room."""

    def __init__(self, page: object = "", *, rooms: PageSandbox | None = None) -> None:
        """Bind it.

        Args:
            page: the HTML that is read where a method is given none: text, or what turns into it
                by `str`, such as a soup. Rooms may stand here, too.
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
        """The text of the content, one line a block.

        Raises:
            ToolFailed: as `read_html`; `not_available` outside of a call.
        """
        html = self._html if html is None else html
        page = await read_html(html, url, "text", self._rooms, max_chars=len(html) + 1000)
        return page.text

    @_in_both
    async def extract_links(self, html: str | None = None, url: str = "") -> list[dict[str, str]]:
        """`{text, href}` of each address that is linked to, without those within the page."""
        html = self._html if html is None else html
        return list((await read_html(html, url, "links", self._rooms, max_chars=0)).links)

    @_in_both
    async def extract_structured(self, html: str | None = None, url: str = "") -> dict[str, Any]:
        """`title`, `description`, the beginning of `text`, the first `links`, and more."""
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
    """Fetches pages and says what they hold."""

    def __init__(
        self,
        web: WebAccess | None = None,
        rooms: PageSandbox | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """Bind it.

        Args:
            timeout: seconds for one page, redirects included; as many again for each page
                that it sends its reader on to.

        Raises:
            ToolFailed: `not_available`: what is not given is not there outside of a call.
        """
        self.timeout = timeout
        self._web: WebAccess = web or _here(WEB_ACCESS)
        self._rooms: PageSandbox = rooms or _here(PAGE_SANDBOX)
        self._extractor = ContentExtractor(rooms=self._rooms)

    @_in_both
    async def fetch(self, url: str, extract_type: ExtractType = "text") -> dict[str, Any]:
        """A page in the seeds' shape, as `seed_shape` tells.

        Raises:
            ToolFailed: as `page`.
        """
        return seed_shape(await self.page(url, PageOrder(extract_type)))

    @_in_both
    async def fetch_batch(
        self, urls: Sequence[str], extract_type: ExtractType = "text"
    ) -> dict[str, Any]:
        """Several pages in their order, in the seeds' shape: `{results, total}`.

        Raises:
            ToolFailed: `too_many_pages`.
        """
        found = await self.pages(urls, PageOrder(extract_type, crawling=True))
        results = [page if "error" in page else seed_shape(page) for page in found]
        return {"results": results, "total": len(results)}

    async def pages(
        self, urls: Sequence[str], order: PageOrder, on_page: OnPage | None = None
    ) -> list[dict[str, Any]]:
        """As `page`, of each; `{url, error, code}` of one that fails.

        Args:
            on_page: called after each page with how many are done, of how many.

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
        """One page: the keys of `web_fetch`.

        Raises:
            ToolFailed: as `WebAccess.page`; `http_error`, `unsupported_type`,
                `page_unreadable`, `pdf_unreadable`, `sandbox_unavailable`.
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
        """The page that a reader comes to in the end, and a warning where that is not known.

        A page may send its reader on by itself; whoever wants its source stays on it.
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
    """A service of the installation whose tool is running.

    Raises:
        ToolFailed: `not_available`.
    """
    context = current_context()
    service = None if context is None else context.services.get(name)
    if service is None:
        raise ToolFailed(
            f"{name} is not there: it is found while a tool of a service runs that has it",
            code="not_available",
        )
    return service


def _check_safe(url: str, target: str) -> None:
    """Refuse what a redirect may not do either; where it may lead the web access decides.

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
    """A page as the seeds' `fetch_page` gives it.

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
