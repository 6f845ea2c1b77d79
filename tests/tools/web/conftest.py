"""A site, checked access to it, and rooms to read its pages in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.domain.web import PAGE_SANDBOX, WEB_ACCESS
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.operations.web.client import Web
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from tests.operations.web.site import Site, serving


class LocalRooms:
    """Rooms without a sandbox: quick, for pages of the tests' own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Operations]:
        workspace = LocalWorkspace(self._folder)
        try:
            yield workspace.operations
        finally:
            workspace.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    settings = WebSettings(allow_networks=["127.0.0.0/8"], host_interval_s=0)
    made = Web(settings, ManualClock())
    yield made
    await made.aclose()


@pytest.fixture
def rooms(tmp_path: Path) -> LocalRooms:
    return LocalRooms(tmp_path)


@pytest.fixture
def ctx(web: Web, rooms: LocalRooms) -> ToolContext:
    services = Services(**{WEB_ACCESS: web, PAGE_SANDBOX: rooms})
    return ToolContext(tool_call_id="call_1", operation_id="call_1", services=services)
