"""Files that calls produced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from app.api.deps import Anyone, ServiceDep
from app.api.errors import problems
from app.api.rest.body import PathId
from app.api.rest.routing import routes_of
from app.api.rest.schemas import ArtifactList, ArtifactView
from app.api.session_deps import ReadableSession
from app.core.errors import InvalidInput, NotFound
from app.db.tables import ArtifactRow
from app.execution.artifacts import ArtifactStore

router = routes_of("artifacts")

CHUNK = 256 << 10
_FILE: dict[str, Any] = {
    "description": "The requested bytes; `x-artifact-size` is the total size.",
    "content": {
        "application/octet-stream": {
            "schema": {"type": "string", "format": "binary"},
            "example": "line 1\nline 2\n",
        }
    },
}


@router.get(
    "/sessions/{session_id}/artifacts",
    summary="List the artifacts of a session",
    responses=problems(NotFound),
)
async def list_artifacts(
    session: ReadableSession,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> ArtifactList:
    """Scope `chat`. Newest first."""
    rows = await service.archive.artifacts(session.id, limit=limit)
    return ArtifactList(artifacts=[ArtifactView.of(row) for row in rows])


@router.get(
    "/artifacts/{artifact_id}",
    summary="Download an artifact",
    response_class=Response,
    responses={**problems(NotFound), 200: _FILE},
)
async def get_artifact(
    artifact_id: PathId,
    service: ServiceDep,
    principal: Anyone,
    offset: Annotated[int, Query(ge=0, le=2**62, description="First byte to return.")] = 0,
    limit: Annotated[
        int | None, Query(ge=1, le=2**62, description="Maximum number of bytes.")
    ] = None,
) -> Response:
    """Requires access to its session. `offset` and `limit` select a part of it."""
    row = await service.archive.artifact(artifact_id)
    if row is None:
        raise NotFound(f"Artifact {artifact_id!r} not found", artifact_id=artifact_id)
    session = await service.archive.session_row(row.session_id)
    if session is None or not principal.may_enter(session):
        raise NotFound(f"Artifact {artifact_id!r} not found", artifact_id=artifact_id)
    if offset > row.size:
        raise InvalidInput(f"The artifact has only {row.size} bytes", field="query.offset")
    end = row.size if limit is None else min(row.size, offset + limit)
    store = service.artifacts
    # Read before the response starts: a missing file must be a 404, not a partial 200.
    first = await store.read(row.id, offset=offset, limit=min(CHUNK, end - offset))
    pieces = _pieces(store, row.id, first, offset, end)
    return StreamingResponse(pieces, headers=_headers(row, end - offset))


async def _pieces(
    store: ArtifactStore, artifact_id: str, first: bytes, offset: int, end: int
) -> AsyncIterator[bytes]:
    piece = first
    while piece:
        yield piece
        offset += len(piece)
        if offset >= end:
            return
        piece = await store.read(artifact_id, offset=offset, limit=min(CHUNK, end - offset))


def _headers(row: ArtifactRow, length: int) -> dict[str, str]:
    """Return headers that make any content a download, never a page of this origin."""
    return {
        "content-type": _media_type(row.media_type),
        "content-length": str(length),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(row.name, safe='')}",
        "content-security-policy": "sandbox; default-src 'none'",
        "cache-control": "private, no-store",
        "etag": f'"{row.sha256}"',
        "x-artifact-size": str(row.size),
    }


def _media_type(stored: str) -> str:
    """Return the media type, replacing one of a tool that could break the header."""
    if not stored.isascii() or not stored.isprintable():
        return "application/octet-stream"
    return f"{stored}; charset=utf-8" if stored == "text/plain" else stored
