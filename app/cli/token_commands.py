"""The words of `tollgate token`; what they do is imported when they run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

tokens = typer.Typer(
    help="Bearer tokens of an installation.", rich_markup_mode=None, no_args_is_help=True
)

DataDir = Annotated[
    Path | None,
    typer.Option(help="Data folder to work on; else the running service, or the usual folder."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="A right; repeat it. `chat` alone when not given.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="An agent it may use; repeat it. Every one when not given."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(help="A project it may use; repeat it. Every one when not given."),
    ] = None,
    days: Annotated[int | None, typer.Option(help="Days until it expires.")] = None,
    data_dir: DataDir = None,
    *,
    admin: Annotated[bool, typer.Option("--admin", help="Every right.")] = False,
) -> None:
    """Make a token and print it, this once."""
    from app.cli.place import find_place
    from app.cli.tokens import NewToken, create_token
    from app.core.errors import InvalidInput

    if admin and scope:
        raise InvalidInput("give --admin, which is every right, or --scope; not both")
    wanted = NewToken(name, scope or None, agent or None, project or None, days, admin=admin)
    _run(create_token(find_place(data_dir), wanted))


@tokens.command("list")
def token_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tokens, without their secrets."""
    from app.cli.place import find_place
    from app.cli.tokens import list_tokens

    _run(list_tokens(find_place(data_dir), as_json=as_json))


@tokens.command("rotate")
def token_rotate(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    grace: Annotated[
        int, typer.Option(help="Seconds the old secret stays valid; it ends at once if not given.")
    ] = 0,
    data_dir: DataDir = None,
) -> None:
    """Replace a token's secret and print the new one, this once."""
    from app.cli.place import find_place
    from app.cli.tokens import rotate_token

    _run(rotate_token(find_place(data_dir), token_id, grace))


@tokens.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(help="Name or id.")], data_dir: DataDir = None
) -> None:
    """End a token at once."""
    from app.cli.place import find_place
    from app.cli.tokens import revoke_token

    _run(revoke_token(find_place(data_dir), name))


def _run(work: Coroutine[Any, Any, int]) -> None:
    raise typer.Exit(asyncio.run(work))
