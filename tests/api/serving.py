"""A real server on a free port, around a real service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI

from app.api.app import create_app, end_feeds
from app.api.server import listening_socket, make_server, url_of
from app.api.service import Service
from app.core.settings import Settings
from app.main import open_service


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers at `url`; `service` is what it serves."""

    url: str
    app: FastAPI

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    @property
    def service(self) -> Service:
        service: Service = self.app.state.service
        return service


@asynccontextmanager
async def serve(settings: Settings) -> AsyncIterator[Serving]:
    """Serve until the context is left; `settings.port` should be 0."""
    app = create_app(settings, partial(open_service, settings))
    listener = listening_socket(settings)
    ready = asyncio.Event()
    server = make_server(settings, app, lambda _: ready.set())
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(20):
            await ready.wait()
        yield Serving(url_of(listener), app)
    finally:
        server.should_exit = True
        end_feeds(app)
        await task
