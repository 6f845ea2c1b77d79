"""Presets of hosts that projects can allow, and the connections that their programs made."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.audit import Moment, Word
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.host_rules import PRESETS
from app.db.connection_tables import NetworkConnectionRow
from app.execution.connections.reader import ConnectionFilters, ConnectionReader
from app.governance.audit.filters import moment_of

router = routes_of("admin", below="/admin")

_PRESET: dict[str, Any] = {"name": "python", "hosts": list(PRESETS["python"])}
_CONNECTION: dict[str, Any] = {
    "seq": 8,
    "id": "net_1",
    "ts": MOMENT,
    "host": "api.example.com",
    "port": 443,
    "verdict": "allowed",
    "code": None,
    "reason": None,
    "bytes_up": 812,
    "bytes_down": 14_937,
    "duration_s": 0.206,
    "operation_id": "op_7f3a9c000001",
    "session_id": "ses_1",
    "run_id": "run_1",
    "agent_id": "default",
    "user_id": "ann",
    "project_id": "default",
}


class NetworkPreset(BaseModel):
    """Hosts that `preset:` and the name allow."""

    model_config = example(**_PRESET)

    name: str
    hosts: list[str] = Field(description="Hosts, as in `allowed_hosts` of a project.")


class NetworkPresets(BaseModel):
    """All presets."""

    model_config = example(presets=[_PRESET])

    presets: list[NetworkPreset]


class NetworkConnectionView(BaseModel):
    """One connection of a program, or a name lookup that was refused."""

    model_config = example(**_CONNECTION)

    seq: int
    id: str
    ts: str
    host: str
    port: int = Field(description="0 for a name lookup.")
    verdict: Literal["open", "allowed", "refused", "lost"] = Field(
        description="`lost` if the service ended before the connection."
    )
    code: str | None = Field(description="Stable code for `reason`.")
    reason: str | None = Field(description="Reason why it was refused.")
    bytes_up: int = Field(description="Bytes that the program sent.")
    bytes_down: int
    duration_s: float
    operation_id: str | None
    session_id: str | None
    run_id: str | None
    agent_id: str | None
    user_id: str | None
    project_id: str | None

    @classmethod
    def of(cls, row: NetworkConnectionRow) -> Self:
        return cls(**row.model_dump())


class NetworkConnectionPage(BaseModel):
    """Connections, newest first."""

    model_config = example(rows=[_CONNECTION], next_before=8)

    rows: list[NetworkConnectionView]
    next_before: int | None = Field(default=None, description="Cursor: `before` of the next page.")


def filters_of(
    host: Word = None,
    verdict: Annotated[
        Literal["open", "allowed", "refused", "lost"] | None,
        Query(description="`open`, `allowed`, `refused` or `lost`."),
    ] = None,
    operation_id: Word = None,
    session_id: Word = None,
    agent_id: Word = None,
    user_id: Word = None,
    project_id: Word = None,
    since: Moment = None,
    until: Moment = None,
) -> ConnectionFilters:
    """Return the filters of a request.

    Raises:
        InvalidInput: `since` or `until` is not a valid time.
    """
    return ConnectionFilters(
        host=host,
        verdict=verdict,
        operation_id=operation_id,
        session_id=session_id,
        agent_id=agent_id,
        user_id=user_id,
        project_id=project_id,
        since=moment_of(since, "since") if since else None,
        until=moment_of(until, "until") if until else None,
    )


@router.get("/network/presets", summary="List presets of allowed hosts", responses=problems())
async def list_network_presets(principal: Admin) -> NetworkPresets:
    """Scope `admin`. The presets that `allowed_hosts` of a project can name."""
    return NetworkPresets(
        presets=[NetworkPreset(name=name, hosts=list(hosts)) for name, hosts in PRESETS.items()]
    )


@router.get("/audit/connections", summary="List connections of programs", responses=problems())
async def list_connections(
    service: ServiceDep,
    principal: Auditor,
    wanted: Annotated[ConnectionFilters, Depends(filters_of)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="Continue from this position.")
    ] = None,
) -> NetworkConnectionPage:
    """Scope `audit:read` or `admin`. Includes refused connections and name lookups."""
    rows = await ConnectionReader(service.database).page(wanted, limit=limit, before=before)
    return NetworkConnectionPage(
        rows=[NetworkConnectionView.of(row) for row in rows],
        next_before=rows[-1].seq if len(rows) == limit else None,
    )
