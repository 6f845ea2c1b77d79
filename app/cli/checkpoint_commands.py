"""The words of `tollgate checkpoints`; what they do is imported when they run."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import Json, Token, Url, finish

checkpoints = typer.Typer(
    help="What the runs of a session changed in files, and taking it back.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Session = Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `list` prints it.")]


@checkpoints.command("list")
def checkpoints_list(
    session: Session, url: Url = None, token: Token = None, *, as_json: Json = False
) -> None:
    """List the runs that changed files, the last one first."""
    from app.cli.checkpoints import Server, list_checkpoints

    work = list_checkpoints(Server.found(url, token), session, as_json=as_json)
    finish(work)


@checkpoints.command("show")
def checkpoints_show(
    session: Session, run: RunId, url: Url = None, token: Token = None, *, as_json: Json = False
) -> None:
    """Show the differences between the state before a run and now."""
    from app.cli.checkpoints import Server, show_checkpoint

    work = show_checkpoint(Server.found(url, token), session, run, as_json=as_json)
    finish(work)


@checkpoints.command("restore")
def checkpoints_restore(
    session: Session,
    run: RunId,
    path: Annotated[
        list[str] | None, typer.Option(help="Only this file of the run; may be repeated.")
    ] = None,
    url: Url = None,
    token: Token = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also files that were changed after the run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Put the files of a run back to what they were before it, all of them or none."""
    from app.cli.checkpoints import Server, restore_checkpoint

    server = Server.found(url, token)
    work = restore_checkpoint(server, session, run, paths=path or [], force=force, as_json=as_json)
    finish(work)
