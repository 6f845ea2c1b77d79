"""`tollgate token …`: bearer tokens, made and ended on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from app.cli.first_token import still_kept
from app.cli.installation import open_tokens
from app.core.clock import SystemClock, isoformat
from app.core.settings import Settings
from app.core.visible import visible
from app.governance.identity.tokens import SCOPES, Token

ACTOR = "cli"
_STATES = {"holds": "active", "expired": "expired", "revoked": "revoked"}


@dataclass(frozen=True, slots=True)
class NewToken:
    """What the command line asks for; None stands for all."""

    name: str
    scopes: Sequence[str] | None = None
    agents: Sequence[str] | None = None
    projects: Sequence[str] | None = None
    days: int | None = None


async def create_token(settings: Settings, wanted: NewToken) -> int:
    """Print a new token alone on standard output; what it means on standard error.

    Raises:
        InvalidInput: a scope, the name, a list or the days do not fit.
    """
    async with open_tokens(settings) as tokens:
        secret, token = await tokens.create(
            wanted.name,
            wanted.scopes or SCOPES,
            days=wanted.days,
            agents=wanted.agents,
            projects=wanted.projects,
            by=ACTOR,
        )
    _show(secret, token)
    return 0


async def rotate_token(settings: Settings, token_id: str, grace_s: int) -> int:
    """Print the new secret of a token.

    Raises:
        NotFound: there is no active token of that id.
        InvalidInput: the grace is longer than a week.
    """
    async with open_tokens(settings) as tokens:
        secret, token = await tokens.rotate(token_id, grace_s=grace_s, by=ACTOR)
        await still_kept(settings, tokens)
    _show(secret, token)
    return 0


async def list_tokens(settings: Settings, *, as_json: bool) -> int:
    """Print every token but its secret."""
    async with open_tokens(settings) as tokens:
        known = await tokens.list_all()
    if as_json:
        typer.echo(json.dumps([token.to_dict() for token in known], indent=2))
        return 0
    now = isoformat(SystemClock().now())
    for token in known:
        state = _STATES[token.state(now)]
        typer.echo(
            f"{token.id}  {token.prefix}…  {state:8}  {visible(token.name)}  {_rights(token)}"
        )
    if not known:
        typer.echo("No tokens. `tollgate token create NAME` makes one.", err=True)
    return 0


async def revoke_token(settings: Settings, name: str) -> int:
    """End a token.

    Raises:
        NotFound: there is no active token of that name or id.
    """
    async with open_tokens(settings) as tokens:
        await tokens.revoke(name, by=ACTOR)
        await still_kept(settings, tokens)
    typer.echo(f"Revoked {name}.", err=True)
    return 0


def _show(secret: str, token: Token) -> None:
    typer.echo(secret)
    until = f"until {token.expires_at}" if token.expires_at else "until it is revoked"
    typer.echo(
        f"Token {token.id} for {visible(token.name)}: {_rights(token)}, {until}."
        " It is not shown again.",
        err=True,
    )


def _rights(token: Token) -> str:
    said = [",".join(token.scopes)]
    if token.agents is not None:
        said.append(f"agents {','.join(token.agents)}")
    if token.projects is not None:
        said.append(f"projects {','.join(token.projects)}")
    return "; ".join(said)
