"""Standing approvals: list them with their use, and revoke them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.confirmation_queries import ConfirmationArchive
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.core.clock import stamp
from app.core.errors import NotFound
from app.core.escaping import unpadded
from app.db.tables import GrantRow
from app.policy.grants import describe_pattern

router = routes_of("admin", below="/admin")

Scope = Literal["run", "session", "agent", "always"]
_GRANT: dict[str, Any] = {
    "id": "grt_1",
    "tool_name": "bash",
    "scope": "session",
    "scope_id": "ses_1",
    "covers": "`git push origin main` in /workspace",
    "pattern": {"kind": "arguments", "arguments": {"text": "hi"}, "cwd": "/workspace"},
    "confirmation_id": "cfm_1",
    "created_by": "ann",
    "created_at": MOMENT,
    "expires_at": MOMENT,
    "hits": 3,
    "last_used_at": MOMENT,
    "active": True,
}


class GrantView(BaseModel):
    """A standing approval."""

    model_config = example(**_GRANT)

    id: str
    tool_name: str
    scope: Scope
    scope_id: str | None = Field(default=None, description="ID of the run, session or agent.")
    covers: str = Field(description="What it approves, as a sentence.")
    pattern: dict[str, Any]
    confirmation_id: str | None = Field(default=None, description="Confirmation that created it.")
    created_by: str
    created_at: str
    expires_at: str | None = None
    max_uses: int | None = Field(default=None, description="Calls that it covers; null for all.")
    hits: int
    last_used_at: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    active: bool = Field(description="Whether it is active: neither expired nor revoked.")

    @classmethod
    def of(cls, row: GrantRow, counting: frozenset[str], now: float) -> Self:
        pattern = orjson.loads(row.pattern)
        over = row.expires_at is not None and row.expires_at <= now
        fields = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        return cls(
            **fields
            | {
                "pattern": pattern,
                "covers": unpadded(describe_pattern(pattern)),
                "expires_at": None if row.expires_at is None else stamp(row.expires_at),
                "active": row.id in counting and not over,
            }
        )


class GrantPage(BaseModel):
    """Standing approvals, newest first."""

    model_config = example(grants=[_GRANT])

    grants: list[GrantView]
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")


@router.get("/grants", summary="List standing approvals", responses=problems())
async def list_grants(
    service: ServiceDep,
    _: Admin,
    tool_name: Annotated[str | None, Query(max_length=128)] = None,
    scope: Annotated[Scope | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[
        str | None, Query(max_length=128, description="`next_before` of the previous page.")
    ] = None,
) -> GrantPage:
    """Scope `admin`. Includes expired and revoked ones, with their creator and number of uses."""
    rows = await ConfirmationArchive(service.database).grants(
        tool_name=tool_name, scope=scope, limit=limit, before=before
    )
    counting = frozenset(grant.id for grant in service.grants.snapshot)
    now = service.clock.time()
    return GrantPage(
        grants=[GrantView.of(row, counting, now) for row in rows],
        next_before=rows[-1].id if len(rows) == limit else None,
    )


@router.delete(
    "/grants/{grant_id}", summary="Revoke a standing approval", responses=problems(NotFound)
)
async def revoke_grant(grant_id: PathId, service: ServiceDep, principal: Admin) -> GrantView:
    """Scope `admin`. It stops applying from the next call on. Repeating it changes nothing."""
    await service.grants.revoke(grant_id, by=principal.user_id)
    row = await ConfirmationArchive(service.database).grant(grant_id)
    assert row is not None
    return GrantView.of(row, frozenset(), service.clock.time())
