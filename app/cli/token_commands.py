"""Command definitions of `tollgate token`; the implementation is imported on use."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish

tokens = typer.Typer(
    help="Manage the bearer tokens of an installation.", rich_markup_mode=None, no_args_is_help=True
)


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Name of the token.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="Scope to grant; repeatable. [default: chat]")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Agent the token may use; repeatable. [default: all]"),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(help="Project the token may use; repeatable. [default: all]"),
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Days until the token expires. [default: never]")
    ] = None,
    data_dir: DataDir = None,
    *,
    admin: Annotated[bool, typer.Option("--admin", help="Grant every scope.")] = False,
) -> None:
    """Create a token. It is shown only once."""
    from app.cli.target import find_place
    from app.cli.tokens import TokenRequest, create_token
    from app.core.errors import InvalidInput

    if admin and scope:
        raise InvalidInput("Use --admin, which grants every scope, or --scope, not both")
    wanted = TokenRequest(name, scope or None, agent or None, project or None, days, admin=admin)
    finish(create_token(find_place(data_dir), wanted))


@tokens.command("list")
def token_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tokens, without their secrets."""
    from app.cli.target import find_place
    from app.cli.tokens import list_tokens

    finish(list_tokens(find_place(data_dir), as_json=as_json))


@tokens.command("rotate")
def token_rotate(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="ID of the token.")],
    grace: Annotated[int, typer.Option(help="Seconds the old secret stays valid.")] = 0,
    data_dir: DataDir = None,
) -> None:
    """Replace a token's secret. The new one is shown only once."""
    from app.cli.target import find_place
    from app.cli.tokens import rotate_token

    finish(rotate_token(find_place(data_dir), token_id, grace))


@tokens.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(help="Name or ID of the token.")], data_dir: DataDir = None
) -> None:
    """Revoke a token immediately."""
    from app.cli.target import find_place
    from app.cli.tokens import revoke_token

    finish(revoke_token(find_place(data_dir), name))
