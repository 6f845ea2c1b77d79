"""Audit log: list, export and verify. It cannot be changed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Self

from fastapi import Depends, Query
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from app.api.deps import Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import MOMENT, example
from app.api.rest.json_lines import documented_lines, json_lines
from app.api.rest.routing import routes_of
from app.db.tables import AuditRow
from app.governance.audit.anchor import FILE_NAME, AnchorFile
from app.governance.audit.filters import AuditFilters, moment_of
from app.governance.audit.reader import AuditReader, facts
from app.governance.audit.verify import Verification, verify

router = routes_of("admin", below="/admin")

_HASH = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"
_ROW: dict[str, Any] = {
    "seq": 12,
    "ts": MOMENT,
    "kind": "call.finished",
    "actor": "ann",
    "session_id": "ses_1",
    "tool_name": "bash",
    "operation_id": "op_7f3a9c000001",
    "verdict": "ask",
    "outcome": "success",
    "detail": {"caller": "websocket", "ms": 12.5, "args": {"command": "rm -r build"}},
    "previous": _HASH,
    "hash": _HASH,
}
_LINES = documented_lines(
    "One row per line, oldest first; `detail` is the hashed JSON text.",
    '{"seq":12,"kind":"call.finished","detail":"{}","hash":"3f79…"}\n',
)


class AuditView(BaseModel):
    """An entry of the audit log."""

    model_config = example(**_ROW)

    seq: int
    ts: str
    kind: str
    actor: str
    subject: str | None = Field(default=None, description="ID of the subject.")
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    tool_name: str | None = None
    operation_id: str | None = None
    verdict: str | None = Field(default=None, description="`allow`, `ask` or `deny`.")
    outcome: str | None = None
    detail: Any
    previous: str = Field(description="Hash of the previous row.")
    hash: str

    @classmethod
    def of(cls, row: AuditRow) -> Self:
        return cls(**facts(row))


class AuditPage(BaseModel):
    """Entries of the audit log, newest first."""

    model_config = example(rows=[_ROW], next_before=12)

    rows: list[AuditView]
    next_before: int | None = Field(default=None, description="Cursor: `before` of the next page.")


class AuditBreak(BaseModel):
    """The first broken entry of the hash chain."""

    model_config = example(
        seq=7, code="audit_row_changed", why="row 7 was changed: it does not match its hash"
    )

    seq: int
    code: str = Field(description="Stable code for `why`.")
    why: str


class AuditCheck(BaseModel):
    """Result of verifying the hash chain."""

    model_config = example(
        ok=True, rows=12, first_seq=1, last_seq=12, head=_HASH, anchors=2, broken=None
    )

    ok: bool
    rows: int
    first_seq: int
    last_seq: int
    head: str = Field(description="Hash of the last row; store it elsewhere to compare it later.")
    anchors: int = Field(
        description="Number of externally recorded chain heads that were compared."
    )
    broken: AuditBreak | None = None

    @classmethod
    def of(cls, found: Verification) -> Self:
        return cls(**found.to_dict())


Word = Annotated[str | None, Query(max_length=256)]
Moment = Annotated[
    str | None,
    Query(
        max_length=64,
        description="ISO 8601 date or time; UTC without a time zone.",
        examples=["2026-11-21", MOMENT],
    ),
]


def filters_of(
    kind: Annotated[
        str | None, Query(max_length=256, description="Prefix of the kind, such as `governance.`.")
    ] = None,
    actor: Word = None,
    subject: Word = None,
    tool_name: Word = None,
    agent_id: Word = None,
    session_id: Word = None,
    run_id: Word = None,
    operation_id: Word = None,
    verdict: Word = None,
    outcome: Word = None,
    since: Moment = None,
    until: Moment = None,
) -> AuditFilters:
    """Return the filters of a request.

    Raises:
        InvalidInput: `since` or `until` is not a valid time.
    """
    return AuditFilters(
        kind=kind,
        actor=actor,
        subject=subject,
        tool_name=tool_name,
        agent_id=agent_id,
        session_id=session_id,
        run_id=run_id,
        operation_id=operation_id,
        verdict=verdict,
        outcome=outcome,
        since=moment_of(since, "since") if since else None,
        until=moment_of(until, "until") if until else None,
    )


Wanted = Annotated[AuditFilters, Depends(filters_of)]


@router.get("/audit", summary="List audit log entries", responses=problems())
async def list_audit(
    service: ServiceDep,
    principal: Auditor,
    wanted: Wanted,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="Continue from this position.")
    ] = None,
) -> AuditPage:
    """Scope `audit:read` or `admin`. Entries of all users, newest first."""
    rows = await AuditReader(service.database).page(wanted, limit=limit, before=before)
    return AuditPage(
        rows=[AuditView.of(row) for row in rows],
        next_before=rows[-1].seq if len(rows) == limit else None,
    )


@router.get(
    "/audit/export",
    summary="Export the audit log as JSON lines",
    response_class=StreamingResponse,
    responses={**problems(), 200: _LINES},
)
async def export_audit(
    service: ServiceDep, principal: Auditor, wanted: Wanted
) -> StreamingResponse:
    """Scope `audit:read` or `admin`. All matching entries up to the current newest one."""
    return await json_lines(AuditReader(service.database).export(wanted))


@router.post(
    "/audit/verify", summary="Verify that the audit log is unchanged", responses=problems()
)
async def verify_audit(service: ServiceDep, principal: Auditor) -> AuditCheck:
    """Scope `audit:read` or `admin`. Reads all entries; `broken` names the first invalid one."""
    file = AnchorFile(service.settings.data_dir / FILE_NAME)
    anchors = await asyncio.to_thread(file.read)
    return AuditCheck.of(await verify(service.database, anchors))
