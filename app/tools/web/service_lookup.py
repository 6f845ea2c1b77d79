"""Services of a call that the web tools use."""

from __future__ import annotations

from app.domain.web import PAGE_SANDBOX, WEB_ACCESS, WEB_SEARCH, PageSandbox, SearchEngine
from app.operations.web.protocol import WebAccess
from app.toolkit.context import ToolContext
from app.tools.web.services import FetchService, SearchService


def fetching(ctx: ToolContext) -> FetchService:
    """Return the service that fetches pages.

    Raises:
        ToolFailed: it is not available.
    """
    web = ctx.services.require(WEB_ACCESS, WebAccess)  # type: ignore[type-abstract]
    rooms = ctx.services.require(PAGE_SANDBOX, PageSandbox)  # type: ignore[type-abstract]
    return FetchService(web, rooms)


def searching(ctx: ToolContext) -> SearchService:
    """Return the service that searches the web.

    Raises:
        ToolFailed: it is not available.
    """
    engine = ctx.services.require(WEB_SEARCH, SearchEngine)  # type: ignore[type-abstract]
    return SearchService(engine)
