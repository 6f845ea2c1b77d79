"""Uploads into the workspace of a session."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.rest.examples import example
from app.api.rest.raw_bodies import RawBodies
from app.api.rest.routing import routes_of
from app.api.session_deps import ReadableSession
from app.core.errors import (
    AlreadyExists,
    NotFound,
    OutsideWorkspace,
    ProjectRequired,
    RateLimited,
    ToolFailed,
)

router = routes_of("files")

BYTES = "application/octet-stream"
_UPLOAD = {
    "path": "uploads/report.pdf",
    "size": 48_211,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "change": "created",
}
_REFUSALS = (NotFound, AlreadyExists, ToolFailed, OutsideWorkspace, ProjectRequired, RateLimited)
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "Bytes of the file.",
        "content": {
            BYTES: {"schema": {"type": "string", "format": "binary"}, "example": "%PDF-1.7 …"}
        },
    }
}

# Each upload is held in memory; slow connections need time.
_uploads = RawBodies("An upload", "uploads", at_once=8, each=3, seconds=300.0)


class UploadView(BaseModel):
    """A file in the workspace."""

    model_config = example(**_UPLOAD)

    path: str = Field(description="Path from the root of the workspace, as tools name it.")
    size: int = Field(description="Size in bytes.")
    sha256: str
    change: Literal["created", "replaced", "unchanged"] = Field(
        description="`unchanged`: a file with the same bytes already existed."
    )


@router.post(
    "/sessions/{session_id}/files",
    summary="Upload a file into the workspace",
    responses=problems(*_REFUSALS, body=True),
    openapi_extra=_BODY,
)
async def upload_file(
    request: Request,
    session: ReadableSession,
    service: ServiceDep,
    principal: Chatter,
    name: Annotated[
        str, Query(min_length=1, max_length=200, description="File name without a path.")
    ],
    overwrite: Annotated[  # noqa: FBT002 - a query parameter
        bool, Query(description="Overwrite an existing file of this name.")
    ] = False,
) -> UploadView:
    """Scope `chat`. The body is the file; it is written to `uploads/{name}` atomically.

    The maximum size is `TOLLGATE_MAX_UPLOAD_BYTES`, which `GET /me` returns. Uploading the same
    file again changes nothing; 409: a different file exists. An upload can be undone like the
    changes of a run.
    """
    uploads = service.uploads
    uploads.place(session, name)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != BYTES:
        raise HTTPException(415, f"Send the file's bytes as Content-Type: {BYTES}")
    data = await _uploads.read(request, sender=principal.user_id, max_bytes=uploads.max_bytes)
    kept = await uploads.keep(session, name, data, actor=principal.user_id, overwrite=overwrite)
    return UploadView(**asdict(kept))
