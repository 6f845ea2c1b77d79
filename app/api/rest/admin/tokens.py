"""Tokens and their permissions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import MADE, show_place
from app.api.rest.one_time import SHOWN_ONCE
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.clock import isoformat
from app.core.errors import NotFound
from app.governance.identity.known_names import known_names
from app.governance.identity.token_rules import (
    APPROVE_GROUP,
    MAX_DAYS,
    MAX_GRACE_S,
    MAX_LISTED,
    MAX_SCOPES,
    SCOPES,
)
from app.governance.identity.tokens import Token
from app.governance.limits import SCHEMA, Limits

router = routes_of("admin", below="/admin")

_TOKEN: dict[str, Any] = {
    "id": "tok_1",
    "name": "ann",
    "prefix": "tg_Qm3xY",
    "scopes": ["chat", "tools:call"],
    "agents": None,
    "projects": ["default"],
    "limits": {"calls_per_minute": 60},
    "created_by": "admin",
    "created_at": MOMENT,
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": None,
    "state": "active",
}
Listed = Annotated[list[Identifier], Field(min_length=1, max_length=MAX_LISTED)]


class TokenView(BaseModel):
    """A token without its secret."""

    model_config = example(**_TOKEN)

    id: str
    name: str = Field(description="User whose sessions it may use.")
    prefix: str = Field(description="Start of the secret, to recognize it.")
    scopes: list[str]
    agents: list[str] | None
    projects: list[str] | None
    limits: dict[str, int | float]
    created_by: str | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None = Field(description="Accurate to the minute.")
    state: Literal["active", "expired", "revoked"]

    @classmethod
    def of(cls, token: Token, service: Service) -> Self:
        now = isoformat(service.clock.now())
        state = token.state(now)
        return cls(**token.to_dict(), state="active" if state == "holds" else state)


class TokenList(BaseModel):
    """All tokens, oldest first, including revoked ones."""

    model_config = example(tokens=[_TOKEN])

    tokens: list[TokenView]


class TokenMade(BaseModel):
    """A new token. Its secret is shown only once."""

    model_config = example(secret="tg_Qm3xY…", token=_TOKEN)  # noqa: S106 - an example

    secret: str
    token: TokenView


class NewToken(Body):
    """Name and permissions of a new token."""

    model_config = example(name="ann", scopes=["chat", "tools:call"], projects=["default"], days=90)

    name: str = Field(
        min_length=1, max_length=64, description="User of the token; several tokens can share one."
    )
    scopes: list[str] = Field(
        min_length=1,
        max_length=MAX_SCOPES,
        json_schema_extra={
            "items": {
                "anyOf": [
                    {"type": "string", "enum": list(SCOPES)},
                    {"type": "string", "pattern": f"^{APPROVE_GROUP}"},
                ]
            }
        },
        description="`approve:<group>` makes the token an approver of the group, and of no other.",
    )
    agents: Listed | None = Field(
        default=None, description="Agents it may use; `default` includes sessions without an agent."
    )
    projects: Listed | None = Field(default=None, description="Projects it may use.")
    limits: dict[str, Any] = Field(default_factory=dict, json_schema_extra=SCHEMA)
    days: int | None = Field(
        default=None, ge=1, le=MAX_DAYS, description="Seconds until it expires."
    )


class Rotation(Body):
    """Grace period of the old secret."""

    model_config = example(grace_s=3600)

    grace_s: int = Field(
        default=0,
        ge=0,
        le=MAX_GRACE_S,
        description="Seconds until the old secret expires; 0 for immediately.",
    )


@router.get("/tokens", summary="List tokens", responses=problems())
async def list_tokens(service: ServiceDep, principal: Admin) -> TokenList:
    """Scope `admin`."""
    tokens = await service.tokens.list_all()
    return TokenList(tokens=[TokenView.of(token, service) for token in tokens])


@router.post(
    "/tokens",
    status_code=201,
    dependencies=SHOWN_ONCE,
    summary="Create a token",
    responses={**MADE, **problems(body=True)},
)
async def create_token(
    body: NewToken, service: ServiceDep, principal: Admin, request: Request, response: Response
) -> TokenMade:
    """Scope `admin`. Only this response contains the secret.

    A token with the scope `admin` cannot be limited to agents or projects, because an administrator
    could remove the limit. 422: an agent or project does not exist.
    """
    (await known_names(service.db)).check(body.agents, body.projects)
    secret, token = await service.tokens.create(
        body.name,
        body.scopes,
        days=body.days,
        agents=body.agents,
        projects=body.projects,
        limits=Limits.from_json(body.limits),
        by=principal.user_id,
    )
    show_place(request, response, token.id)
    return TokenMade(secret=secret, token=TokenView.of(token, service))


@router.get("/tokens/{token_id}", summary="Get a token", responses=problems(NotFound))
async def get_token(token_id: PathId, service: ServiceDep, principal: Admin) -> TokenView:
    """Scope `admin`."""
    return TokenView.of(await service.tokens.get(token_id), service)


@router.delete("/tokens/{token_id}", summary="Revoke a token", responses=problems(NotFound))
async def revoke_token(token_id: PathId, service: ServiceDep, principal: Admin) -> TokenView:
    """Scope `admin`. Also ends its logins and runs immediately, and its connections within seconds.

    Repeating it changes nothing.
    """
    token = await service.tokens.get(token_id)
    if token.revoked_at is None:
        (token,) = await service.tokens.revoke(token_id, by=principal.user_id)
        await service.runs.cancel_by_token(token_id)
        await service.delegation.cancel_by_token(token_id)
    return TokenView.of(token, service)


@router.post(
    "/tokens/{token_id}/rotate",
    status_code=201,
    dependencies=SHOWN_ONCE,
    summary="Replace a token's secret",
    responses=problems(NotFound, body=True),
)
async def rotate_token(
    token_id: PathId, body: Rotation, service: ServiceDep, principal: Admin
) -> TokenMade:
    """Scope `admin`. Creates a token with the same name, rights and lifetime.

    The old token is revoked, or expires after `grace_s` so that clients can switch.
    """
    secret, token = await service.tokens.rotate(
        token_id, grace_s=body.grace_s, by=principal.user_id
    )
    return TokenMade(secret=secret, token=TokenView.of(token, service))
