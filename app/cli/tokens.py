"""`tollgate token …`: bearer tokens, made and ended on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from app.cli.installation import open_tokens
from app.cli.terminal import visible
from app.core.clock import SystemClock, isoformat
from app.core.settings import Settings
from app.governance.tokens import SCOPES, Token


async def create_token(
    settings: Settings, name: str, scopes: tuple[str, ...], days: int | None
) -> int:
    """Print a new token alone on standard output; what it means on standard error.

    Raises:
        InvalidInput: a scope, the name or the days do not fit.
    """
    async with open_tokens(settings) as tokens:
        secret, token = await tokens.create(name, scopes or SCOPES, days=days)
    typer.echo(secret)
    until = f"until {token.expires_at}" if token.expires_at else "until it is revoked"
    typer.echo(
        f"Token {token.id} for {visible(token.name)}: {', '.join(token.scopes)}, {until}. It is"
        " not shown again. From now on every request needs a token.",
        err=True,
    )
    return 0


async def list_tokens(settings: Settings, *, as_json: bool) -> int:
    """Print every token but its secret."""
    async with open_tokens(settings) as tokens:
        known = await tokens.list_all()
    if as_json:
        typer.echo(json.dumps([asdict(token) for token in known], indent=2))
        return 0
    now = isoformat(SystemClock().now())
    for token in known:
        scopes = ",".join(token.scopes)
        typer.echo(
            f"{token.id}  {token.prefix}…  {_state(token, now):8}  {visible(token.name)}  {scopes}"
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
        await tokens.revoke(name)
    typer.echo(f"Revoked {name}.", err=True)
    return 0


def _state(token: Token, now: str) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at is not None and token.expires_at <= now else "active"
