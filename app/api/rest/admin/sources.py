"""Data sources of the SQL tools: where they are, who may read which tables."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, Auditor, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.source_shapes import (
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
from app.api.rest.admin.versions import ExpectedVersion, show_version
from app.api.rest.body import PathId
from app.api.rest.headers import MADE_VERSIONED, VERSIONED, show_place
from app.api.rest.routing import routes_of
from app.core.errors import (
    AlreadyExists,
    Conflict,
    NotFound,
    VersionMismatch,
)
from app.governance.audit.filters import moment_of
from app.knowledge.sources.inspection import MAX_LISTED
from app.knowledge.sources.model import Source
from app.knowledge.sources.query_reader import QueryAuditReader, QueryFilters

router = routes_of("admin", below="/admin")

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
    """Which rows a request wants.

    Raises:
        InvalidInput: `since` or `until` is no moment.
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
    """Scope `audit:read` or `admin`. Every query, also those that were refused."""
    rows = await QueryAuditReader(service.database).page(wanted, limit=limit, before=before)
    return QueryPage(
        rows=[QueryView.of(row) for row in rows],
        next_before=rows[-1].seq if len(rows) == limit else None,
    )


@router.get("/sources", summary="List data sources", responses=problems())
async def list_sources(
    service: ServiceDep,
    principal: Admin,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> AdminSourcePage:
    """Scope `admin`. Their passwords are never shown."""
    sources = service.gate.sources.store.list_all()
    rest = [item for item in sources if after is None or item.name > after]
    page = rest[:limit]
    return AdminSourcePage(
        sources=[AdminSource.of(item) for item in page],
        total=len(sources),
        next_after=page[-1].name if len(rest) > limit else None,
    )


@router.post(
    "/sources",
    status_code=201,
    summary="Create a data source",
    responses={**MADE_VERSIONED, **problems(AlreadyExists, body=True)},
)
async def create_source(
    body: NewSource, service: ServiceDep, principal: Admin, request: Request, response: Response
) -> AdminSource:
    """Scope `admin`. Nothing is connected yet: test it afterwards."""
    change = body.change()
    made = await service.gate.sources.store.create(change, actor=principal.user_id)
    show_place(request, response, made.id)
    return _shown(made, response)


@router.post(
    "/sources/keys/rotate",
    summary="Re-encrypt all passwords with a new key",
    responses=problems(Conflict),
)
async def rotate_source_key(service: ServiceDep, principal: Admin) -> KeyRotation:
    """Scope `admin`. With keys of the settings, the first of them seals: put a new one there."""
    sealed = await service.gate.sources.inspection.rotate_key(actor=principal.user_id)
    return KeyRotation(sealed=sealed)


@router.get(
    "/sources/{source_id}",
    summary="Get a data source",
    responses={**VERSIONED, **problems(NotFound)},
)
async def get_source(
    source_id: PathId, service: ServiceDep, principal: Admin, response: Response
) -> AdminSource:
    """Scope `admin`."""
    return _shown(service.gate.sources.store.get(source_id), response)


@router.patch(
    "/sources/{source_id}",
    summary="Update a data source",
    responses={
        **VERSIONED,
        **problems(NotFound, AlreadyExists, VersionMismatch, body=True),
    },
)
async def change_source(
    source_id: PathId,
    body: SourceChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
    response: Response,
) -> AdminSource:
    """Scope `admin`. It counts from the next call on."""
    changed = await service.gate.sources.store.change(
        source_id, body.change(), actor=principal.user_id, expected=expected
    )
    return _shown(changed, response)


@router.delete(
    "/sources/{source_id}",
    summary="Delete a data source",
    responses=problems(NotFound, VersionMismatch),
)
async def remove_source(
    source_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminSource:
    """Scope `admin`. What it was. Its queries stay in the audit."""
    store = service.gate.sources.store
    gone = store.get(source_id)
    await store.remove(source_id, actor=principal.user_id, expected=expected)
    return AdminSource.of(gone)


@router.post(
    "/sources/{source_id}/test",
    summary="Test the connection to a data source",
    responses=problems(NotFound),
)
async def test_source(source_id: PathId, service: ServiceDep, principal: Admin) -> SourceTest:
    """Scope `admin`. Also reads anew what its tables look like."""
    return SourceTest.of(await service.gate.sources.inspection.test(source_id))


@router.get(
    "/sources/{source_id}/tables",
    summary="List the tables of a data source",
    responses=problems(NotFound, Conflict),
)
async def discover_tables(
    source_id: PathId, service: ServiceDep, principal: Admin
) -> DiscoveredTables:
    """Scope `admin`. Every table that its account can see, allowed or not, as it is now."""
    source = service.gate.sources.store.get(source_id)
    found = await service.gate.sources.inspection.discover(source_id)
    return DiscoveredTables(
        tables=[DiscoveredTable.of(item, source) for item in found],
        total=len(found),
        cut=len(found) == MAX_LISTED,
    )


def _shown(source: Source, response: Response) -> AdminSource:
    show_version(response, source.version)
    return AdminSource.of(source)
