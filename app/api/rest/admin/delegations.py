"""Sub-agent tasks of all users."""

from __future__ import annotations

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.delegations import Before, DelegationPage, Limit, Running, page_of
from app.api.rest.routing import routes_of

router = routes_of("admin", below="/admin")


@router.get("/delegations", summary="List sub-agent tasks of all users", responses=problems())
async def list_all_delegations(
    service: ServiceDep,
    _: Admin,
    running: Running = True,  # noqa: FBT002 - a query parameter
    limit: Limit = 50,
    before: Before = None,
) -> DelegationPage:
    """Scope `admin`. Active ones, newest first; `running=false` also includes ended ones."""
    return await page_of(service, None, running=running, limit=limit, before=before)
