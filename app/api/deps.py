"""Dependencies of routes: the service, and the principal with the required scope."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection, Request

from app.api.auth import COOKIE, UNKNOWN_SOURCE, bearer, login_cookie
from app.api.connection_limits import sign_in
from app.api.principal import Principal
from app.api.service import Service
from app.core.errors import Forbidden

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Scopes that alone give no access to tools.
_APART = frozenset({"audit:read", "desktop"})

C = TypeVar("C", bound=Callable[..., Any])


def dependency(call: C) -> C:
    """Resolve the signature of a dependency once, instead of for every route."""
    call.__signature__ = inspect.signature(call, eval_str=True)  # type: ignore[attr-defined]
    return call


_scheme = dependency(
    HTTPBearer(
        auto_error=False,
        description="A token from `tollgate token create`, from TOLLGATE_TOKEN, or the first "
        "token that `tollgate serve` creates.",
    )
)
_cookie = dependency(
    APIKeyCookie(
        name=COOKIE,
        auto_error=False,
        description="A browser signed in with `POST /api/v1/login`. Changes also require the "
        "header `X-CSRF-Token` and an allowed `Origin`.",
    )
)


# None of these waits, but FastAPI would run a dependency that is not `async` in a thread.
@dependency
async def service_of(request: Request) -> Service:
    """Return the running service."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(service_of)]


def source_of(connection: HTTPConnection) -> str:
    """Return the address that a request comes from, as known to the socket."""
    return connection.client.host if connection.client else UNKNOWN_SOURCE


@dependency
async def principal_of(
    request: Request,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_scheme)],
    __: Annotated[str | None, Security(_cookie)],
) -> Principal:
    """Return the principal of the request; a token takes precedence over a cookie.

    The request's state stores it, so that it is determined once and the audit log can name it.

    Raises:
        RateLimited: too many attempts have failed.
        Unauthenticated: the token is invalid, or missing although one is required.
        Forbidden: the request has a cookie but does not come from an allowed page.
    """
    known: Principal | None = getattr(request.state, "checked_principal", None)
    if known is not None:
        return known
    authenticator = (await service_of(request)).authenticator
    token = bearer(request.headers.get("authorization"))
    secret = login_cookie(request.cookies)
    if token is None and secret is not None:
        principal = await authenticator.signed_in(secret)
        if principal is not None:
            request.state.principal = principal
            sign_in(request.scope)
            changes = request.method not in SAFE_METHODS
            authenticator.check_page(secret, request.headers, changes=changes)
            request.state.checked_principal = principal
            return principal
    principal = await authenticator.authenticate(token, source=source_of(request))
    request.state.principal = request.state.checked_principal = principal
    sign_in(request.scope)
    return principal


# Any authenticated principal. Routes with this dependency must not reveal data of others.
SignedIn = Annotated[Principal, Depends(principal_of)]


@dependency
async def member(principal: SignedIn) -> Principal:
    """Return the principal if it can work with tools.

    Raises:
        Forbidden: the token has no scopes except `audit:read` and `desktop`.
    """
    if principal.scopes <= _APART:
        raise Forbidden("Requires the scope 'chat', 'tools:call' or 'approve'", scope="chat")
    return principal


Anyone = Annotated[Principal, Depends(member)]


class RequiredScope:
    """Dependency that returns the principal if it has a scope."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    async def __call__(self, principal: SignedIn) -> Principal:
        principal.require(self._scope)
        return principal


async def _approver(principal: SignedIn) -> Principal:
    """Return the principal if it may answer any confirmations."""
    principal.require_approver()
    return principal


Chatter = Annotated[Principal, Depends(dependency(RequiredScope("chat")))]
Caller = Annotated[Principal, Depends(dependency(RequiredScope("tools:call")))]
Approver = Annotated[Principal, Depends(dependency(_approver))]
Admin = Annotated[Principal, Depends(dependency(RequiredScope("admin")))]
DesktopOperator = Annotated[Principal, Depends(dependency(RequiredScope("desktop")))]
Auditor = Annotated[Principal, Depends(dependency(RequiredScope("audit:read")))]
