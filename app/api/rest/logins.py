"""List of browser sign-ins, and their revocation."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import ServiceDep, SignedIn
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.identity import SignedOut
from app.api.rest.routing import routes_of
from app.core.errors import NotFound
from app.governance.identity.logins import Login

router = routes_of("identity")

_LOGIN: dict[str, Any] = {
    "id": "log_1",
    "user_id": "ann",
    "token_id": "tok_1",
    "created_at": MOMENT,
    "last_used_at": MOMENT,
    "expires_at": MOMENT,
    "is_this": True,
}


class LoginView(BaseModel):
    """A browser sign-in."""

    model_config = example(**_LOGIN)

    id: str
    user_id: str
    token_id: str | None = Field(
        description="Token of the sign-in; null for the token from the settings."
    )
    created_at: str
    last_used_at: str = Field(description="Accurate to the minute.")
    expires_at: str = Field(description="Latest expiry; earlier after inactivity.")
    is_this: bool = Field(description="Whether this request used it.")


class LoginList(BaseModel):
    """Active logins, last used first."""

    model_config = example(logins=[_LOGIN])

    logins: list[LoginView]


@router.get("/logins", summary="List browser sign-ins", responses=problems())
async def list_logins(
    service: ServiceDep,
    principal: SignedIn,
    everybody: Annotated[  # noqa: FBT002 - a query parameter
        bool, Query(description="Requires the scope `admin`: sign-ins of all tokens.")
    ] = False,
) -> LoginList:
    """Requires any token or login. Lists the logins that were created with the same token."""
    if everybody:
        principal.require("admin")
    return LoginList(
        logins=[
            LoginView(
                id=use.login.id,
                user_id=use.login.user_id,
                token_id=use.login.token_id,
                created_at=use.login.created_at,
                last_used_at=use.last_used_at,
                expires_at=use.login.expires_at,
                is_this=use.login.id == principal.login_id,
            )
            for use in await service.logins.in_use()
            if everybody or _is_own(principal, use.login)
        ]
    )


@router.delete("/logins/{login_id}", summary="End a browser sign-in", responses=problems(NotFound))
async def end_login(login_id: PathId, service: ServiceDep, principal: SignedIn) -> SignedOut:
    """Ends a login that was created with the same token; administrators can end any.

    It ends immediately, its connections within seconds; the token remains valid.
    """
    await service.logins.refresh()
    login = service.logins.get(login_id)
    if login is None or not (principal.is_admin or _is_own(principal, login)):
        raise NotFound(f"Sign-in {login_id!r} not found", login_id=login_id)
    await service.logins.end(login.id, by=principal.user_id)
    return SignedOut(signed_out=True)


def _is_own(principal: Principal, login: Login) -> bool:
    """Return whether a login belongs to the token of this request; never for anonymous access."""
    return principal.came_by != "open_house" and principal.token_id == login.token_id
