"""`tollgate token …`: creates, lists, rotates and revokes bearer tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from app.cli.bootstrap_token import forget_revoked, kept_token, still_kept
from app.cli.installation import open_named_tokens, open_tokens
from app.cli.options import print_json
from app.cli.rest import request
from app.cli.service_errors import CommandRefused
from app.cli.target import Place, RemoteService
from app.core.clock import SystemClock, isoformat
from app.core.errors import NotFound
from app.core.escaping import visible
from app.governance.identity.tokens import SCOPES, Token

ACTOR = "cli"
LEAST = ("chat",)
_STATES = {"holds": "active", "expired": "expired", "revoked": "revoked"}


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Token options from the command line; None for agents or projects means all."""

    name: str
    scopes: Sequence[str] | None = None
    agents: Sequence[str] | None = None
    projects: Sequence[str] | None = None
    days: int | None = None
    admin: bool = False

    @property
    def rights(self) -> tuple[str, ...]:
        """Return the scopes, or the minimal one if none is named."""
        return SCOPES if self.admin else tuple(self.scopes or LEAST)


async def create_token(place: Place, wanted: TokenRequest) -> int:
    """Print only the new token on standard output, and its description on standard error.

    Raises:
        InvalidInput: A scope, the name, a list or the days are invalid.
    """
    if isinstance(place, RemoteService):
        body = {
            "name": wanted.name,
            "scopes": list(wanted.rights),
            "agents": wanted.agents,
            "projects": wanted.projects,
            "days": wanted.days,
        }
        made = await place.send("POST", "admin", "tokens", body=body)
        _show(place, made["secret"], made["token"])
        return 0
    async with open_named_tokens(place.settings) as (tokens, known):
        known.check(wanted.agents, wanted.projects)
        secret, token = await tokens.create(
            wanted.name,
            wanted.rights,
            days=wanted.days,
            agents=wanted.agents,
            projects=wanted.projects,
            by=ACTOR,
        )
    _show(place, secret, token.to_dict())
    return 0


async def rotate_token(place: Place, token_id: str, grace_s: int) -> int:
    """Rotate a token and print its new secret.

    Raises:
        NotFound: No active token has this ID.
        InvalidInput: The grace period is longer than a week.
    """
    if isinstance(place, RemoteService):
        body = {"grace_s": grace_s}
        made = await place.send("POST", "admin", "tokens", token_id, "rotate", body=body)
        await _still_kept(place)
        _show(place, made["secret"], made["token"])
        return 0
    async with open_tokens(place.settings) as tokens:
        secret, token = await tokens.rotate(token_id, grace_s=grace_s, by=ACTOR)
        await still_kept(place.settings, tokens)
    _show(place, secret, token.to_dict())
    return 0


async def list_tokens(place: Place, *, as_json: bool) -> int:
    """Print every token without its secret."""
    rows = await _listed(place)
    if as_json:
        print_json({"tokens": rows})
        return 0
    for row in rows:
        name = visible(row["name"])
        typer.echo(f"{row['id']}  {row['prefix']}…  {row['state']:8}  {name}  {_rights(row)}")
    if not rows:
        typer.echo("No tokens. Create one with `tollgate token create NAME`.", err=True)
    return 0


async def revoke_token(place: Place, name: str) -> int:
    """Revoke a token.

    Raises:
        NotFound: No active token has this name or ID.
    """
    if isinstance(place, RemoteService):
        active = [row for row in await _listed(place) if row["state"] != "revoked"]
        meant = [row for row in active if row["id"] == name]
        meant = meant or [row for row in active if row["name"] == name]
        if not meant:
            raise NotFound(f"No active token {name!r}")
        for row in meant:
            await place.send("DELETE", "admin", "tokens", row["id"])
        await _still_kept(place)
    else:
        async with open_tokens(place.settings) as tokens:
            await tokens.revoke(name, by=ACTOR)
            await still_kept(place.settings, tokens)
    typer.echo(f"Revoked {visible(name)} {place.name}.", err=True)
    return 0


async def _still_kept(service: RemoteService) -> None:
    """Remove the file of the first token if that token is no longer valid."""
    kept = kept_token(service.data_dir) if service.data_dir else None
    if kept is None or service.data_dir is None:
        return
    try:
        await request(service.url, "/me", token=kept)
    except CommandRefused as error:
        if error.error.get("code") == "unauthenticated":
            forget_revoked(service.data_dir)


async def _listed(place: Place) -> list[dict[str, Any]]:
    """Return every token in the form of the REST API, oldest first."""
    if isinstance(place, RemoteService):
        rows: list[dict[str, Any]] = (await place.get("admin", "tokens"))["tokens"]
        return rows
    async with open_tokens(place.settings) as tokens:
        known = await tokens.list_all()
    now = isoformat(SystemClock().now())
    return [_row(token, now) for token in known]


def _row(token: Token, now: str) -> dict[str, Any]:
    return {**token.to_dict(), "state": _STATES[token.state(now)]}


def _show(place: Place, secret: str, token: Mapping[str, Any]) -> None:
    typer.echo(secret)
    until = f"until {token['expires_at']}" if token["expires_at"] else "until revoked"
    typer.echo(
        f"Token {token['id']} for {visible(token['name'])} {place.name}: {_rights(token)},"
        f" {until}. It is not shown again.",
        err=True,
    )


def _rights(token: Mapping[str, Any]) -> str:
    limited = [field for field in ("agents", "projects") if token[field] is not None]
    said = [f"{field} {','.join(token[field])}" for field in limited]
    return "; ".join([",".join(token["scopes"]), *said])
