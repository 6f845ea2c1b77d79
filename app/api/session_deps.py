"""Dependencies of session routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from app.api.deps import Chatter, ServiceDep, dependency
from app.api.principal import Principal
from app.api.service import Service
from app.core.errors import NotFound
from app.db.tables import SessionRow


async def visible_session(service: Service, principal: Principal, session_id: str) -> SessionRow:
    """Return a stored session for reading, without opening it.

    Raises:
        NotFound: the session does not exist, or the principal may not see it.
    """
    row = await service.archive.session_row(session_id)
    if row is None or not principal.may_enter(row):
        raise NotFound(f"Session {session_id!r} not found", session_id=session_id)
    return row


@dependency
async def readable_session(session_id: str, service: ServiceDep, principal: Chatter) -> SessionRow:
    """Return the stored session that the path names."""
    return await visible_session(service, principal, session_id)


ReadableSession = Annotated[SessionRow, Depends(readable_session)]
