"""Browser sign-in and sign-out, and the current user."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.auth import COOKIE, SECURE_COOKIE, login_cookie
from app.api.deps import ServiceDep, SignedIn, source_of
from app.api.errors import problems
from app.api.principal import CameBy, Principal
from app.api.rest.body import Body
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import RateLimited
from app.governance.identity.logins import csrf_token

router = routes_of("identity")


class SignIn(Body):
    """Token to sign in with."""

    model_config = example(token="tg_Qm3…")  # noqa: S106 - an example

    token: str = Field(min_length=1, max_length=1024)


class Me(BaseModel):
    """Current user with its permissions."""

    model_config = example(
        user_id="ann",
        scopes=["chat", "approve"],
        agents=None,
        projects=["default"],
        limits={"calls_per_minute": 60},
        came_by="login",
        expires_at=MOMENT,
        csrf_token="9f86d081884c7d65",  # noqa: S106 - an example
        max_upload_bytes=33_554_432,
    )

    user_id: str
    scopes: list[str]
    agents: list[str] | None = Field(description="Allowed agents; null for all.")
    projects: list[str] | None = Field(description="Allowed projects; null for all.")
    limits: dict[str, int | float] = Field(description="Limits of the token, if any.")
    came_by: CameBy = Field(description="How this request was authenticated.")
    expires_at: str | None = Field(description="Expiry of the credentials.")
    csrf_token: str | None = Field(
        description="For cookie sign-ins: send it as `X-CSRF-Token` with every change."
    )
    max_upload_bytes: int = Field(
        description="Maximum size of an upload into a workspace; 0 disables uploads."
    )

    @classmethod
    def of(
        cls, principal: Principal, service: Service, expires_at: str | None, secret: str
    ) -> Self:
        login = service.logins.get(principal.login_id) if principal.login_id else None
        ends = [end for end in (expires_at, login and login.expires_at) if end]
        return cls(
            user_id=principal.user_id,
            scopes=sorted(principal.scopes),
            agents=None if principal.agents is None else sorted(principal.agents),
            projects=None if principal.projects is None else sorted(principal.projects),
            limits=principal.limits.to_json(),
            came_by=principal.came_by,
            expires_at=min(ends, default=None),
            csrf_token=csrf_token(secret) if principal.login_id else None,
            max_upload_bytes=service.settings.max_upload_bytes,
        )


class SignedOut(BaseModel):
    """Result of a sign-out."""

    model_config = example(signed_out=True)

    signed_out: bool


@router.post("/login", summary="Sign in with a token", responses=problems(RateLimited, body=True))
async def login(body: SignIn, request: Request, response: Response, service: ServiceDep) -> Me:
    """For browsers: the response sets a cookie that scripts cannot read.

    Requests with the cookie need no token. Changes also need the `csrf_token` of the response as
    `X-CSRF-Token`, and an allowed origin. The login ends with its token, after
    `TOLLGATE_LOGIN_LIFETIME_S`, or after `TOLLGATE_LOGIN_IDLE_S` without use. Failed attempts are
    limited by address and account.
    """
    secret, principal = await service.authenticator.sign_in(body.token, source=source_of(request))
    await _end_former(request, service)
    settings, secure = service.settings, _is_secure(request, service)
    response.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        secret,
        max_age=int(settings.login_lifetime_s),
        path="/",
        httponly=True,
        secure=secure,
        samesite="strict",
    )
    return Me.of(principal, service, await _expires_at(principal, service), secret)


@router.post("/logout", summary="Sign out", responses=problems())
async def logout(
    request: Request, response: Response, service: ServiceDep, principal: SignedIn
) -> SignedOut:
    """Ends the login of the cookie and its open connections. Its token remains valid."""
    await service.authenticator.sign_out(principal)
    for name in (COOKIE, SECURE_COOKIE):
        if name in request.cookies:
            response.delete_cookie(
                name, path="/", secure=name == SECURE_COOKIE, httponly=True, samesite="strict"
            )
    return SignedOut(signed_out=principal.login_id is not None)


@router.get("/me", summary="Get the current user", responses=problems())
async def get_me(request: Request, service: ServiceDep, principal: SignedIn) -> Me:
    """Requires any token or login. Returns the user, the rights and the authentication method."""
    secret = login_cookie(request.cookies) or ""
    return Me.of(principal, service, await _expires_at(principal, service), secret)


async def _expires_at(principal: Principal, service: Service) -> str | None:
    """Return the expiry of the principal's token."""
    if principal.token_id is None:
        return None
    return (await service.tokens.holder(principal.token_id)).expires_at


async def _end_former(request: Request, service: Service) -> None:
    """End the browser's previous login, because it can only have one."""
    former = login_cookie(request.cookies)
    principal = await service.authenticator.signed_in(former) if former else None
    if principal is not None:
        await service.authenticator.sign_out(principal)


def _is_secure(request: Request, service: Service) -> bool:
    """Return whether the browser uses HTTPS, directly or through a proxy."""
    page = request.headers.get("origin", "")
    return (
        service.settings.secure_cookie
        or request.url.scheme == "https"
        or page.lower().startswith("https://")
    )
