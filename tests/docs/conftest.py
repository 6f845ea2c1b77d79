"""A real service on a free port, with the example tools as its plugins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.api.app import create_app
from app.api.server import listening_socket, make_server
from app.bootstrap.service import open_service
from app.config.settings import Settings, load_settings
from tests.support.source import ROOT

TOKEN = "a-token-of-the-examples"


@pytest.fixture
def settings(tmp_path) -> Settings:
    return load_settings(
        data_dir=tmp_path / "data",
        host="127.0.0.1",
        port=0,
        plugin_dir=ROOT / "examples" / "tools",
        token=TOKEN,
        anthropic_api_key=None,
    )


@pytest.fixture
async def url(settings: Settings) -> AsyncIterator[str]:
    """Where the running service answers."""
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    app = create_app(settings, lambda: open_service(settings))
    server = make_server(settings, app, started.set_result)
    serving = asyncio.create_task(server.serve(sockets=[listening_socket(settings)]))
    try:
        async with asyncio.timeout(60):
            yield await started
    finally:
        server.should_exit = True
        await serving
