"""Services of tools that live as long as the runtime: web access, language servers, screenshots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.config.web import WebSettings
from app.core.clock import Clock
from app.domain.web import EVENT_LOOP, PAGE_SANDBOX, WEB_ACCESS, WEB_SEARCH, PageSandbox
from app.operations.language_servers.pool import LanguageServerPool, installed_servers
from app.operations.screens.screens import Screens
from app.operations.web.addresses import OwnPorts
from app.operations.web.client import Web
from app.toolkit.ports import CODE_SERVERS, SCREEN_CAPTURE
from app.toolkit.services import Services
from app.tools.web.engines import search_engine


@asynccontextmanager
async def web_services(
    settings: WebSettings, services: Services, clock: Clock, rooms: PageSandbox, own_ports: OwnPorts
) -> AsyncIterator[None]:
    """Register the services; at the end, close every connection.

    Without a search engine, `web_search` stays off, with a reason.

    Args:
        own_ports: returns the ports on which this service listens.
    """
    web = Web(settings, clock, own_ports=own_ports)
    services.register(WEB_ACCESS, web)
    services.register(EVENT_LOOP, asyncio.get_running_loop())
    services.register(PAGE_SANDBOX, rooms)
    if (engine := search_engine(settings, web, rooms)) is not None:
        services.register(WEB_SEARCH, engine)
    try:
        yield
    finally:
        await web.aclose()


@asynccontextmanager
async def developer_services(
    settings: Settings, services: Services, own_ports: OwnPorts = frozenset
) -> AsyncIterator[None]:
    """Register the services that this machine supports; at the end, stop every language server.

    Unsupported services are not registered, so their tools are off, with a reason.
    """
    servers = installed_servers(settings.language_servers)
    pool = LanguageServerPool(settings.language_servers, servers)
    screens = Screens(settings.screens, web=settings.web, own_ports=own_ports)
    if servers:
        services.register(CODE_SERVERS, pool)
    if screens.available:
        services.register(SCREEN_CAPTURE, screens)
    try:
        yield
    finally:
        await pool.close()
