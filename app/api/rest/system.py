"""Readiness, metrics, projects and WebSocket tickets of the service."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from pydantic import BaseModel
from starlette.responses import Response

from app.api.deps import Anyone, Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.metrics import MetricsCollector
from app.api.rest.one_time import SHOWN_ONCE
from app.api.rest.routing import routes_of
from app.api.ws_tickets import TTL_S
from app.core.errors import Overloaded, RateLimited, StorageUnavailable

router = routes_of("service")

_METRICS: dict[str, Any] = {
    "description": "Prometheus text",
    "content": {
        "text/plain": {
            "schema": {"type": "string"},
            "example": 'tollgate_tool_calls_total{status="success",tool="bash"} 3.0\n',
        }
    },
}


_NOT_READY = problems(StorageUnavailable, Overloaded, public=True)


class Ready(BaseModel):
    """The service can work."""

    model_config = example(status="ready")

    status: str


class ProjectView(BaseModel):
    """A project; only administrators see its `root`."""

    model_config = example(id="default", name="default")

    id: str
    name: str
    root: str | None = None


class ProjectList(BaseModel):
    """Projects for sessions."""

    model_config = example(projects=[{"id": "default", "name": "default"}])

    projects: list[ProjectView]


class Ticket(BaseModel):
    """Ticket for one `hello` on the WebSocket."""

    model_config = example(ticket="8Jt0mQ2l", expires_in_s=30)

    ticket: str
    expires_in_s: int


@router.get("/ready", summary="Check readiness", responses=_NOT_READY)
async def get_ready(service: ServiceDep) -> Ready:
    """Requires no token. 503 while no new work is accepted; see `details.conditions`."""
    conditions = service.conditions
    error = conditions.refusal(changes=True)
    if error is not None:
        error.details["conditions"] = [condition.code for condition in conditions.current()]
        raise error
    return Ready(status="ready")


@router.get(
    "/metrics",
    summary="Get Prometheus metrics",
    response_class=Response,
    responses={**problems(), 200: _METRICS},
)
async def get_metrics(service: ServiceDep, principal: Auditor) -> Response:
    """Scope `audit:read` or `admin`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(MetricsCollector(service.metrics, service.registry.snapshot().tools))
    return Response(
        generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


@router.get("/projects", summary="List projects", responses=problems())
async def list_projects(service: ServiceDep, principal: Anyone) -> ProjectList:
    """Lists the projects that the token may use."""
    admin = "admin" in principal.scopes
    return ProjectList(
        projects=[
            ProjectView(id=item.id, name=item.name, root=item.root if admin else None)
            for item in service.projects.list_all()
            if principal.may_use_project(item.id)
        ]
    )


@router.post(
    "/ws-tickets",
    status_code=201,
    dependencies=SHOWN_ONCE,
    summary="Create a ticket for the WebSocket",
    responses=problems(RateLimited),
)
async def create_ws_ticket(service: ServiceDep, principal: Anyone) -> Ticket:
    """For browsers, which cannot set WebSocket headers: send it in `hello.auth.ticket`."""
    return Ticket(ticket=service.ws_tickets.issue(principal), expires_in_s=int(TTL_S))
