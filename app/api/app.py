"""The application: routes, checks and error rendering around one running service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from app import __version__
from app.api import errors
from app.api.rest import (
    artifacts,
    calls,
    checkpoints,
    confirmations,
    delegations,
    desktop,
    events,
    files,
    hooks_in,
    house,
    identity,
    logins,
    questions,
    runs,
    sessions,
    timeline,
    todos,
    tools,
)
from app.api.rest.admin import agents as admin_agents
from app.api.rest.admin import audit as admin_audit
from app.api.rest.admin import channels as admin_channels
from app.api.rest.admin import confirmations as admin_confirmations
from app.api.rest.admin import delegations as admin_delegations
from app.api.rest.admin import desktop_tasks as admin_desktop_tasks
from app.api.rest.admin import doctor as admin_doctor
from app.api.rest.admin import forum as admin_forum
from app.api.rest.admin import grants as admin_grants
from app.api.rest.admin import hooks as admin_hooks
from app.api.rest.admin import limits as admin_limits
from app.api.rest.admin import memory as admin_memory
from app.api.rest.admin import projects as admin_projects
from app.api.rest.admin import resolve as admin_resolve
from app.api.rest.admin import rule_trials as admin_rule_trials
from app.api.rest.admin import rules as admin_rules
from app.api.rest.admin import schedules as admin_schedules
from app.api.rest.admin import settings as admin_settings
from app.api.rest.admin import skills as admin_skills
from app.api.rest.admin import sources as admin_sources
from app.api.rest.admin import tickets as admin_tickets
from app.api.rest.admin import tokens as admin_tokens
from app.api.rest.admin import tools as admin_tools
from app.api.rest.admin import triggers as admin_triggers
from app.api.rest.admin import usage as admin_usage
from app.api.rest.admin import webhooks as admin_webhooks
from app.api.rest.middleware import BodyLimit, SameSite
from app.api.rest.routing import PREFIX
from app.api.rest.stream import Feed
from app.api.service import Service
from app.api.web import Pages
from app.api.ws.desktop import router as desktop_ws_router
from app.api.ws.endpoint import Connections
from app.api.ws.endpoint import router as ws_router
from app.core.settings import Settings

_ABOUT = (
    "Governed tool use for AI agents: every tool call takes one path. Errors are RFC 9457 "
    "problem details; match on `code`. The WebSocket at `/api/v1/ws` has its own document."
)
_TAGS = [
    {"name": "sessions", "description": "Persisted chats whose messages form a tree."},
    {"name": "runs", "description": "One user message to its final answer."},
    {"name": "events", "description": "The append-only log of a session."},
    {"name": "calls", "description": "Tool calls without a model, by the same governed path."},
    {"name": "tools", "description": "The catalog, and what is switched on."},
    {"name": "confirmations", "description": "Questions to a person before a call runs."},
    {"name": "questions", "description": "What tools ask the user, and the answers."},
    {"name": "delegations", "description": "What agents have given to sub-agents."},
    {"name": "artifacts", "description": "Files that calls produced."},
    {"name": "files", "description": "What people send into a workspace."},
    {"name": "checkpoints", "description": "What runs changed in files, and taking it back."},
    {"name": "webhooks", "description": "What other systems begin here, signed."},
    {"name": "desktop", "description": "Operators of desktops: their tasks."},
    {"name": "service", "description": "Health, figures, projects, tickets."},
    {"name": "identity", "description": "Signing in and out with a browser."},
    {"name": "admin", "description": "What administrators decide, and what they look into."},
]


def create_app(
    settings: Settings, open_service: Callable[[], AbstractAsyncContextManager[Service]]
) -> FastAPI:
    """The ASGI application; the service is open from its start-up to its shutdown."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_service() as service:
            app.state.service = service
            yield

    app = FastAPI(
        title="Tollgate",
        version=__version__,
        description=_ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        # The bundled pages load their scripts from other servers.
        docs_url=None,
        redoc_url=None,
        openapi_tags=_TAGS,
        lifespan=lifespan,
    )
    app.state.settings = settings
    app.state.connections = Connections()
    app.state.operator_rates = desktop.OperatorRates()
    app.state.feeds = dict[Feed, str]()
    app.add_middleware(Pages)
    app.add_middleware(BodyLimit, uploads=settings.max_upload_bytes)
    app.add_middleware(SameSite)
    errors.install(app)
    app.router.routes.extend(every_route())
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def every_route() -> Sequence[BaseRoute]:
    """Every route, in the order in which they are tried."""
    # `/tools/calls` before `/tools/{name}`.
    subjects = (
        *(house, identity, logins, sessions, runs, events, calls, tools, confirmations),
        *(artifacts, files, questions),
        *(delegations, admin_delegations),
        *(checkpoints, timeline, todos),
        *(admin_confirmations, admin_grants, admin_tickets),
        *(admin_tools, admin_agents, admin_projects, admin_resolve, admin_tokens, admin_skills),
        admin_sources,
        *(admin_channels, admin_desktop_tasks, desktop),
        *(admin_audit, admin_forum, admin_schedules),
        *(admin_doctor, admin_settings),
        *(admin_hooks, admin_limits, admin_memory, admin_usage),
        *(admin_triggers, admin_webhooks, hooks_in),
        # `/admin/rules/fatigue` before `/admin/rules/{rule_id}`.
        *(admin_rule_trials, admin_rules),
    )
    routes = [route for subject in subjects for route in subject.router.routes]
    return (*routes, *ws_router.routes, *desktop_ws_router.routes)


def end_feeds(app: FastAPI) -> None:
    """End every event stream, so that a graceful shutdown does not wait for its clients."""
    feeds: dict[Feed, str] = app.state.feeds
    for feed in tuple(feeds):
        feed.close()


_REF = "#/components/schemas/{model}"


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document; `Problem` is named in every error, so it must be in it."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=app.openapi_tags,
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        described = errors.Problem.model_json_schema(ref_template=_REF)
        schemas.update(described.pop("$defs"))
        schemas["Problem"] = described
        app.openapi_schema = document
    return app.openapi_schema
