"""Services of the web tools: checked requests, sandboxes to parse pages, a search engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.web import WebSettings
from app.execution.setup import Runtime
from app.operations.web.addresses import OwnPorts
from app.operations.web.client import Web
from app.tools.web.engines import search_engine
from app.tools.web.ports import EVENT_LOOP, PAGE_SANDBOX, WEB_ACCESS, WEB_SEARCH, PageSandbox


@asynccontextmanager
async def web_services(
    settings: WebSettings, runtime: Runtime, rooms: PageSandbox, own_ports: OwnPorts
) -> AsyncIterator[None]:
    """Register the services; at the end, close every connection.

    Without a search engine, `web_search` stays off, with a reason.

    Args:
        own_ports: returns the ports on which this service listens.
    """
    web = Web(settings, runtime.clock, own_ports=own_ports)
    runtime.services.register(WEB_ACCESS, web)
    runtime.services.register(EVENT_LOOP, asyncio.get_running_loop())
    runtime.services.register(PAGE_SANDBOX, rooms)
    if (engine := search_engine(settings, web, rooms)) is not None:
        runtime.services.register(WEB_SEARCH, engine)
    try:
        yield
    finally:
        await web.aclose()
