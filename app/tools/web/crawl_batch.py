"""`crawl_batch`: fetches several pages."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.domain.web import PAGE_SANDBOX, WEB_ACCESS
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.web.page_text import UrlText, page_text
from app.tools.web.returns import CRAWL_BATCH_RESULT
from app.tools.web.service_lookup import fetching
from app.tools.web.services import MAX_CHARS, ExtractMode, PageOrder


class CrawlBatchArgs(ToolArgs):
    # The service refuses more than ten, with the message that callers know.
    urls: Annotated[list[UrlText], Field(min_length=1, max_length=1000)] = Field(
        description="Addresses of at most 10 pages."
    )
    extract_type: ExtractMode = Field(default="text", description="As extract_mode of web_fetch.")
    max_chars: int = Field(
        default=MAX_CHARS // 5, ge=100, le=500_000, description="Maximum characters per page."
    )


@tool(
    category="crawler",
    toolset="web",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="fetch",
    sandbox="bash",
    requires=(WEB_ACCESS, PAGE_SANDBOX),
    routing_hint="main-process-proxy",
    timeout_s=300,
    argument_aliases={"extract_mode": "extract_type", "extractType": "extract_type"},
    tags=("web", "fetch"),
    return_schema=CRAWL_BATCH_RESULT,
)
async def crawl_batch(args: CrawlBatchArgs, ctx: ToolContext) -> ToolResult:
    """Fetch up to 10 web pages in parallel; prefer it over many calls of web_fetch.

    The robots.txt of sites is respected. Returns results in the order of urls; a page that fails
    has an error and does not affect the others.
    """

    async def on_page(done: int, total: int) -> None:
        await ctx.progress("fetch", current=done, total=total, unit="pages")

    order = PageOrder(args.extract_type, args.max_chars, crawling=True)
    pages = await fetching(ctx).pages(args.urls, order, on_page)
    data = {"results": pages, "total": len(pages)}
    return ToolResult.ok(data, text="\n\n".join(map(page_text, pages)))
