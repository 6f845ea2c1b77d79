"""What the web tools find in the services of a call."""

from __future__ import annotations

from app.operations.web.protocol import WebAccess
from app.toolkit.context import ToolContext
from app.tools.web.ports import PAGE_SANDBOX, WEB_ACCESS, WEB_SEARCH, PageSandbox, SearchEngine
from app.tools.web.services import FetchService, SearchService


def fetching(ctx: ToolContext) -> FetchService:
    """The service that fetches pages.

    Raises:
        ToolFailed: there is none.
    """
    web = ctx.services.require(WEB_ACCESS, WebAccess)  # type: ignore[type-abstract]
    rooms = ctx.services.require(PAGE_SANDBOX, PageSandbox)  # type: ignore[type-abstract]
    return FetchService(web, rooms)


def searching(ctx: ToolContext) -> SearchService:
    """The service that searches the web.

    Raises:
        ToolFailed: there is none.
    """
    engine = ctx.services.require(WEB_SEARCH, SearchEngine)  # type: ignore[type-abstract]
    return SearchService(engine)
