"""Services of the developer tools that outlive a call: language servers, screenshots."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.operations.language_servers.pool import LanguageServerPool, installed_servers
from app.operations.screens.screens import Screens
from app.operations.web.addresses import OwnPorts
from app.toolkit.ports import CODE_SERVERS, SCREEN_CAPTURE
from app.toolkit.services import Services


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
