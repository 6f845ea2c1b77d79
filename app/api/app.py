"""ASGI application: routes, checks and error rendering around one running service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.routing import BaseRoute, Route

from app import __version__
from app.api import errors
from app.api.desktop_operators import OperatorRates
from app.api.idempotency import IdempotencyKeys
from app.api.lazy_routes import LazyRoutes
from app.api.openapi import ServedDocument, document
from app.api.rest import health
from app.api.rest.compression import Compressed
from app.api.rest.idempotent import IdempotentRequests
from app.api.rest.middleware import BodyLimit, SameSite
from app.api.rest.routing import PREFIX
from app.api.root_path import BelowRoot
from app.api.service import Service
from app.api.web import WebPages
from app.api.ws.connections import Connections
from app.api.ws.limits import Remembered
from app.config.settings import Settings

if TYPE_CHECKING:
    from app.api.rest.stream import Feed

_ABOUT = (
    "Governed tool use for AI agents: every tool call takes one path. Errors are RFC 9457 "
    "problem details; match on `code`. The WebSocket at `/api/v1/ws` has its own document."
)
_TAGS = [
    {"name": "sessions", "description": "Persistent chats whose messages form a tree."},
    {"name": "runs", "description": "One user message through to its final answer."},
    {"name": "events", "description": "The append-only log of a session."},
    {
        "name": "calls",
        "description": "Direct tool calls without a model, on the same governed path.",
    },
    {"name": "tools", "description": "The tool catalog and its switches."},
    {"name": "confirmations", "description": "Approval requests before a call runs."},
    {"name": "questions", "description": "Questions that tools ask the user, and their answers."},
    {"name": "delegations", "description": "Tasks that agents delegate to sub-agents."},
    {"name": "artifacts", "description": "Files produced by calls."},
    {"name": "files", "description": "Uploads into a workspace."},
    {"name": "checkpoints", "description": "File changes made by runs, and undoing them."},
    {"name": "webhooks", "description": "Signed deliveries from other systems."},
    {"name": "desktop", "description": "Desktop operators and their tasks."},
    {"name": "service", "description": "Health, metrics, projects, tickets."},
    {"name": "identity", "description": "Browser sign-in and sign-out."},
    {"name": "admin", "description": "Administration and diagnostics."},
]


def create_app(
    settings: Settings,
    open_service: Callable[[], AbstractAsyncContextManager[Service]],
    *,
    whole: bool = True,
) -> FastAPI:
    """Create the ASGI application; its lifespan opens and closes the service.

    Args:
        whole: False defers all routes except the health check to `app.state.later`, which a
            `Server` loads as soon as it accepts requests.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_service() as service:
            app.state.service = service
            db, clock = service.db, service.clock
            keys = IdempotencyKeys(db, clock, lambda: service.database)
            app.state.keys, app.state.remembered = keys, Remembered(keys, db)
            async with keys.purged():
                yield

    app = FastAPI(
        title="Tollgate",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,
        # The bundled pages load their scripts from other servers.
        docs_url=None,
        redoc_url=None,
        openapi_tags=_TAGS,
        lifespan=lifespan,
    )
    feeds: dict[Feed, str] = {}
    app.state.settings = settings
    app.state.connections = Connections()
    app.state.operator_rates = OperatorRates()
    app.state.feeds = feeds
    app.state.later = _routed(app)
    app.add_middleware(IdempotentRequests)
    app.add_middleware(Compressed)
    app.add_middleware(WebPages, root_path=settings.root_path)
    app.add_middleware(BodyLimit, uploads=settings.max_upload_bytes)
    app.add_middleware(SameSite)
    if settings.root_path:
        app.add_middleware(BelowRoot, root_path=settings.root_path)
    errors.install(app)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    if whole:
        app.state.later.load()
    return app


def _routed(app: FastAPI) -> LazyRoutes:
    """Install the health route and a placeholder for the others; return the placeholder."""
    answer = ServedDocument(app).answer
    own = (*app.routes, Route(f"{PREFIX}/openapi.json", answer, include_in_schema=False))

    def read() -> Sequence[BaseRoute]:
        # With the database toolkit, this import takes a third of the server's start-up time.
        from app.api.routes import every_route

        return (*own, *every_route())

    later = LazyRoutes(app.router, read)
    app.router.routes[:] = (*health.router.routes, later)
    return later


def end_feeds(app: FastAPI) -> None:
    """End every event stream, so that a graceful shutdown does not wait for its clients."""
    feeds: dict[Feed, str] = app.state.feeds
    for feed in tuple(feeds):
        feed.close()
