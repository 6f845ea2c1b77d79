"""The service about itself: health, figures, projects, tickets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import __version__
from app.api.deps import Anyone, Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.figures import Figures
from app.api.rest.routing import routes_of
from app.api.rest.shapes import MOMENT, example
from app.api.tickets import TTL_S
from app.core.errors import RateLimited, StorageUnavailable

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


_LEVEL: dict[str, Any] = {
    "available": True,
    "asks": False,
    "layers": ["namespaces", "rlimits", "no_new_privs", "landlock-fs", "seccomp"],
    "missing": [],
    "minimum_met": True,
    "sentence": "Confined: files, network and processes.",
    "code": "confined",
    "why": "",
}
_SANDBOX: dict[str, Any] = {
    "kernel": True,
    "landlock_abi": 7,
    "missing": {},
    "message": "Confined: files, network and processes.",
    "levels": {"bash": _LEVEL},
}


class LevelView(BaseModel):
    """What confines one level of programs here."""

    model_config = example(**_LEVEL)

    available: bool
    asks: bool = Field(description="It is less than the level needs, so each call asks.")
    layers: list[str]
    missing: list[str] = Field(description="Layers that the level uses and this machine lacks.")
    minimum_met: bool
    sentence: str
    code: str = Field(
        description="What the sentence says: `confined`, `pure`, `filter_only`, `unconfined`,"
        " `failed`, `no_filter`, or `off.` and `asks.` before what is lacking."
    )
    why: str = Field(description="What the machine says of it; may be empty.")


class SandboxView(BaseModel):
    """What stands between programs and this machine."""

    model_config = example(**_SANDBOX)

    kernel: bool = Field(description="Whether the kernel confines anything.")
    landlock_abi: int = Field(description="Version of the kernel's Landlock; 0 for none.")
    missing: dict[str, str] = Field(description="Why each layer that is not there is not.")
    message: str
    levels: dict[str, LevelView] = Field(description="`strict`, `standard`, `lenient`, `bash`.")


class Health(BaseModel):
    """Alive. What is missing is named; nothing here is secret."""

    model_config = example(
        status="ok",
        version="0.1.0",
        started_at=MOMENT,
        uptime_s=12.5,
        database="ok",
        model={"configured": False},
        sandbox=_SANDBOX,
    )

    status: str = Field(description="`ok`, or `degraded` while the database cannot be written.")
    version: str
    started_at: str
    uptime_s: float
    database: str = Field(description="`ok` or `failing`.")
    model: dict[str, bool]
    sandbox: SandboxView


class Ready(BaseModel):
    """Able to work."""

    model_config = example(status="ready")

    status: str


class ProjectView(BaseModel):
    """A workspace; `root` is for administrators."""

    model_config = example(id="default", name="default")

    id: str
    name: str
    root: str | None = None


class ProjectList(BaseModel):
    """Workspaces that sessions may name."""

    model_config = example(projects=[{"id": "default", "name": "default"}])

    projects: list[ProjectView]


class Ticket(BaseModel):
    """Good for one `hello` on the WebSocket."""

    model_config = example(ticket="8Jt0mQ2l", expires_in_s=30)

    ticket: str
    expires_in_s: int


@router.get("/health", summary="Is it alive?", responses=problems(public=True))
async def get_health(service: ServiceDep) -> Health:
    """Without a token. 200 as long as the process answers; `ready` tells whether it can work."""
    gate = service.gate
    failing = gate.ledger.error is not None
    uptime = gate.clock.now() - datetime.fromisoformat(service.started_at)
    return Health(
        status="degraded" if failing else "ok",
        version=__version__,
        started_at=service.started_at,
        uptime_s=round(uptime.total_seconds(), 3),
        database="failing" if failing else "ok",
        model={"configured": service.has_model},
        sandbox=SandboxView(**gate.workspaces.status.to_dict()),
    )


@router.get("/ready", summary="Can it work?", responses=problems(StorageUnavailable, public=True))
async def get_ready(service: ServiceDep) -> Ready:
    """Without a token. 503 while the database cannot be written."""
    error = service.gate.ledger.error
    if error is not None:
        raise error
    return Ready(status="ready")


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={**problems(), 200: _METRICS},
)
async def get_metrics(service: ServiceDep, principal: Auditor) -> Response:
    """Scope `audit:read` or `admin`."""
    gate = service.gate
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(gate.metrics, gate.registry.snapshot().tools))
    return Response(
        generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


@router.get("/projects", summary="List projects", responses=problems())
async def list_projects(service: ServiceDep, principal: Anyone) -> ProjectList:
    """The workspaces of this installation that the token may use."""
    admin = "admin" in principal.scopes
    return ProjectList(
        projects=[
            ProjectView(id=item.id, name=item.name, root=item.root if admin else None)
            for item in service.gate.projects.list_all()
            if principal.may_use_project(item.id)
        ]
    )


@router.post(
    "/ws-tickets",
    status_code=201,
    summary="A ticket for the WebSocket",
    responses=problems(RateLimited),
)
async def create_ws_ticket(service: ServiceDep, principal: Anyone) -> Ticket:
    """For browsers, which cannot send a header with a WebSocket: goes into `hello.auth.ticket`."""
    return Ticket(ticket=service.tickets.issue(principal), expires_in_s=int(TTL_S))
