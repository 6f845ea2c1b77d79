"""Liveness check."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app import __version__
from app.api.deps import ServiceDep
from app.api.errors import problems
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of

router = routes_of("service")

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
    """Isolation of one level on this machine."""

    model_config = example(**_LEVEL)

    available: bool
    asks: bool = Field(description="Weaker than the level requires, so each call asks.")
    layers: list[str]
    missing: list[str] = Field(description="Layers that the level uses and this machine lacks.")
    minimum_met: bool
    sentence: str
    code: str = Field(
        description="Stable code for the sentence: `confined`, `pure`, `filter_only`, "
        "`unconfined`, `failed`, `no_filter`, or `off.` and `asks.` followed by the "
        "missing layer."
    )
    why: str = Field(description="Message of the machine; may be empty.")


class SandboxView(BaseModel):
    """Isolation of programs from this machine."""

    model_config = example(**_SANDBOX)

    kernel: bool = Field(description="Whether the kernel confines programs.")
    landlock_abi: int = Field(description="Version of the kernel's Landlock; 0 if unavailable.")
    missing: dict[str, str] = Field(description="Reason for each missing layer.")
    message: str
    levels: dict[str, LevelView] = Field(description="`strict`, `standard`, `lenient`, `bash`.")


class Health(BaseModel):
    """State of the service, with its missing parts; it contains no secrets."""

    model_config = example(
        status="ok",
        version="0.2.0",
        started_at=MOMENT,
        uptime_s=12.5,
        database="ok",
        conditions=[],
        model={"configured": False},
        sandbox=_SANDBOX,
    )

    status: str = Field(description="`ok`, or `degraded` if `conditions` is not empty.")
    version: str
    started_at: str
    uptime_s: float
    database: str = Field(description="`ok` or `failing`.")
    conditions: list[str] = Field(
        description="Problems of the machine or the database; see docs/operations.md."
    )
    model: dict[str, bool]
    sandbox: SandboxView


@router.get("/health", summary="Check liveness", responses=problems(public=True))
async def get_health(service: ServiceDep) -> Health:
    """Requires no token. 200 while the process responds; `GET /ready` checks if it can work."""
    failing = service.db.error is not None
    conditions = [condition.code for condition in service.conditions.current()]
    uptime = service.clock.now() - datetime.fromisoformat(service.started_at)
    return Health(
        status="degraded" if conditions else "ok",
        version=__version__,
        started_at=service.started_at,
        uptime_s=round(uptime.total_seconds(), 3),
        database="failing" if failing else "ok",
        conditions=conditions,
        model={"configured": service.has_model},
        sandbox=SandboxView(**service.workspaces.status.to_dict()),
    )
