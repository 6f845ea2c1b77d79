"""Files of a result, stored for the session so that its clients can show them."""

from __future__ import annotations

from typing import Any

from app.core.errors import ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS, Artifacts


async def attach(name: str, media_type: str, data: bytes, ctx: ToolContext) -> dict[str, Any]:
    """Store `data`; return the fields that a renderer needs.

    Raises:
        ToolFailed: `no_session` without a session to show it in, or artifacts are not available.
        StorageUnavailable: the disk is full.
    """
    if ctx.session_id is None:
        raise ToolFailed(
            "Showing a file requires a session, but this call has none", code="no_session"
        )
    store = ctx.services.require(ARTIFACTS, Artifacts)  # type: ignore[type-abstract]
    artifact_id = await store.keep(
        name, media_type, data, session_id=ctx.session_id, operation_id=ctx.operation_id
    )
    return {
        "name": name,
        "media_type": media_type,
        "size": len(data),
        "artifact_id": artifact_id,
        "url": f"/api/v1/artifacts/{artifact_id}",
    }
