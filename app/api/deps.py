"""What routes ask for: the service, and who is asking with which right."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from app.api.auth import Principal, bearer
from app.api.service import Service
from app.core.errors import NotFound
from app.db.tables import SessionRow

_scheme = HTTPBearer(
    auto_error=False,
    description="A token of `tollgate token create`, or the one in TOLLGATE_TOKEN. Not needed "
    "on a loopback address while no token exists.",
)


def service_of(request: Request) -> Service:
    """The running service."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(service_of)]


async def principal_of(
    request: Request,
    service: ServiceDep,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_scheme)],
) -> Principal:
    """Who sent the request.

    Raises:
        Unauthenticated: the token is wrong, or missing where one is needed.
    """
    return await service.authenticator.authenticate(bearer(request.headers.get("authorization")))


Anyone = Annotated[Principal, Depends(principal_of)]


class Scope:
    """A dependency: the principal, if it was granted a scope."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    def __call__(self, principal: Anyone) -> Principal:
        principal.require(self._scope)
        return principal


Chatter = Annotated[Principal, Depends(Scope("chat"))]
Caller = Annotated[Principal, Depends(Scope("tools:call"))]
Approver = Annotated[Principal, Depends(Scope("approve"))]
Admin = Annotated[Principal, Depends(Scope("admin"))]
Auditor = Annotated[Principal, Depends(Scope("audit:read"))]


async def visible_session(service: Service, principal: Principal, session_id: str) -> SessionRow:
    """The stored session, without opening it: for reading.

    Raises:
        NotFound: there is none, or it is somebody else's: the two look the same.
    """
    row = await service.archive.session_row(session_id)
    if row is None or not principal.may_see(row.user_id):
        raise NotFound(f"No session {session_id!r}", session_id=session_id)
    return row


async def readable_session(session_id: str, service: ServiceDep, principal: Chatter) -> SessionRow:
    """The stored session that the path names."""
    return await visible_session(service, principal, session_id)


ReadableSession = Annotated[SessionRow, Depends(readable_session)]
