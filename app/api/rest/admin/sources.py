"""Data sources of the SQL tools, with their addresses, tables and permitted agents."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from app.api.deps import Admin, Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.source_schemas import (
    AdminSource,
    AdminSourcePage,
    DiscoveredTable,
    DiscoveredTables,
    KeyRotation,
    NewSource,
    QueryPage,
    QueryView,
    SourceChange,
    SourceTest,
)
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import PathId
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists, Conflict, NotFound
from app.governance.audit.filters import moment_of
from app.knowledge.sources.inspection import MAX_LISTED
from app.knowledge.sources.model import Source
from app.knowledge.sources.query_reader import QueryAuditReader, QueryFilters

router = routes_of("admin", below="/admin")
sources = Crud(router, "sources", "source_id", path="data-sources")

Word = Annotated[str | None, Query(max_length=256)]
Moment = Annotated[
    str | None, Query(max_length=64, description="ISO 8601 date or time, as in the audit log.")
]


def filters_of(
    source_id: Word = None,
    agent_id: Word = None,
    user_id: Word = None,
    session_id: Word = None,
    verdict: Annotated[
        str | None, Query(pattern="^(allowed|refused)$", description="`allowed` or `refused`.")
    ] = None,
    since: Moment = None,
    until: Moment = None,
) -> QueryFilters:
    """Return the filters of a request.

    Raises:
        InvalidInput: `since` or `until` is not a valid time.
    """
    return QueryFilters(
        source_id=source_id,
        agent_id=agent_id,
        user_id=user_id,
        session_id=session_id,
        verdict=verdict,
        since=moment_of(since, "since") if since else None,
        until=moment_of(until, "until") if until else None,
    )


@router.get("/audit/queries", summary="List queries to data sources", responses=problems())
async def list_queries(
    service: ServiceDep,
    principal: Auditor,
    wanted: Annotated[QueryFilters, Depends(filters_of)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="Continue from this position.")
    ] = None,
) -> QueryPage:
    """Scope `audit:read` or `admin`. Includes refused queries."""
    rows = await QueryAuditReader(service.database).page(wanted, limit=limit, before=before)
    return QueryPage(
        rows=[QueryView.of(row) for row in rows],
        next_before=rows[-1].seq if len(rows) == limit else None,
    )


@sources.page(AdminSourcePage, "List data sources")
async def list_sources(service: ServiceDep, principal: Admin) -> Listed[Source]:
    """Scope `admin`. Passwords are never returned."""
    return Listed({item.name: item for item in service.sources.store.list_all()}, AdminSource.of)


@sources.create("Create a data source", AlreadyExists)
async def create_source(body: NewSource, service: ServiceDep, principal: Admin) -> AdminSource:
    """Scope `admin`. This does not connect to the data source: test it afterwards."""
    store = service.sources.store
    return AdminSource.of(await store.create(body.change(), actor=principal.user_id))


@router.post(
    "/data-sources/keys/rotate",
    summary="Re-encrypt all passwords with a new key",
    responses=problems(Conflict),
)
async def rotate_source_key(service: ServiceDep, principal: Admin) -> KeyRotation:
    """Scope `admin`. If the settings contain the keys, first put the new key at their start."""
    sealed = await service.sources.inspection.rotate_key(actor=principal.user_id)
    return KeyRotation(sealed=sealed)


@sources.read("Get a data source")
async def get_source(source_id: PathId, service: ServiceDep, principal: Admin) -> AdminSource:
    """Scope `admin`."""
    return AdminSource.of(service.sources.store.get(source_id))


@sources.change("Update a data source", AlreadyExists)
async def change_source(
    source_id: PathId,
    body: SourceChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminSource:
    """Scope `admin`. Changes apply from the next call on."""
    changed = await service.sources.store.change(
        source_id, body.change(), actor=principal.user_id, expected=expected
    )
    return AdminSource.of(changed)


@sources.remove("Delete a data source")
async def remove_source(
    source_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminSource:
    """Scope `admin`. Returns the deleted data source. Its queries stay in the audit log."""
    gone = await service.sources.store.remove(source_id, actor=principal.user_id, expected=expected)
    return AdminSource.of(gone)


@router.post(
    "/data-sources/{source_id}/test",
    summary="Test the connection to a data source",
    responses=problems(NotFound),
)
async def test_source(source_id: PathId, service: ServiceDep, principal: Admin) -> SourceTest:
    """Scope `admin`. Also reloads the schema of its tables."""
    return SourceTest.of(await service.sources.inspection.test(source_id))


@router.get(
    "/data-sources/{source_id}/tables",
    summary="List the tables of a data source",
    responses=problems(NotFound, Conflict),
)
async def discover_tables(
    source_id: PathId, service: ServiceDep, principal: Admin
) -> DiscoveredTables:
    """Scope `admin`. The current tables that its account can see, allowed or not."""
    source = service.sources.store.get(source_id)
    found = await service.sources.inspection.discover(source_id)
    return DiscoveredTables(
        tables=[DiscoveredTable.of(item, source) for item in found],
        total=len(found),
        cut=len(found) == MAX_LISTED,
    )
