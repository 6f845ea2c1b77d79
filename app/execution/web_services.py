"""What the web tools need: checked requests, rooms to read pages in, a search engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.core.web import WebSettings
from app.execution.setup import Runtime
from app.operations.web.addresses import OwnPorts
from app.operations.web.client import Web
from app.tools.web.engines import search_engine
from app.tools.web.ports import EVENT_LOOP, PAGE_SANDBOX, WEB_ACCESS, WEB_SEARCH, PageSandbox


@asynccontextmanager
async def web_services(
    settings: WebSettings, runtime: Runtime, rooms: PageSandbox, own_ports: OwnPorts
) -> AsyncIterator[None]:
    """Register them; at the end every connection is closed.

    Without a search engine none is registered, so that `web_search` is off, with a reason.

    Args:
        own_ports: tells where this service listens.
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
