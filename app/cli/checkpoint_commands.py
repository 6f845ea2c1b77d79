"""Command definitions of `tollgate checkpoints`; the implementation is imported on use."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import Json, Token, Url, finish

checkpoints = typer.Typer(
    help="List and undo the file changes of a session's runs.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Session = Annotated[str, typer.Argument(metavar="SESSION", help="ID of the session.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="ID of the run, as printed by `list`.")]


@checkpoints.command("list")
def checkpoints_list(
    session: Session, url: Url = None, token: Token = None, *, as_json: Json = False
) -> None:
    """List the runs that changed files, newest first."""
    from app.cli.checkpoints import CheckpointClient, list_checkpoints

    work = list_checkpoints(CheckpointClient.found(url, token), session, as_json=as_json)
    finish(work)


@checkpoints.command("show")
def checkpoints_show(
    session: Session, run: RunId, url: Url = None, token: Token = None, *, as_json: Json = False
) -> None:
    """Show the difference between the files before a run and now."""
    from app.cli.checkpoints import CheckpointClient, show_checkpoint

    work = show_checkpoint(CheckpointClient.found(url, token), session, run, as_json=as_json)
    finish(work)


@checkpoints.command("restore")
def checkpoints_restore(
    session: Session,
    run: RunId,
    path: Annotated[
        list[str] | None, typer.Option(help="Only this file of the run; repeatable.")
    ] = None,
    url: Url = None,
    token: Token = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also restore files that changed after the run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Restore the files of a run to their state before it. Restores all of them or none."""
    from app.cli.checkpoints import CheckpointClient, restore_checkpoint

    server = CheckpointClient.found(url, token)
    work = restore_checkpoint(server, session, run, paths=path or [], force=force, as_json=as_json)
    finish(work)
