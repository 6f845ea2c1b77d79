"""Command definitions of `tollgate approvals`; the implementation is imported on use."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import Json, Token, Url, finish

approvals = typer.Typer(
    help="List and answer the calls that wait for approval.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="ID of the confirmation, from `list`.")]
Note = Annotated[str | None, typer.Option("--note", help="Reason, shown to the model.")]


@approvals.command("list")
def approvals_list(url: Url = None, token: Token = None, *, as_json: Json = False) -> None:
    """List the calls that wait for you, oldest first."""
    from app.cli.approvals import list_waiting
    from app.cli.target import find_service

    finish(list_waiting(find_service(url, token), as_json=as_json))


@approvals.command("watch")
def approvals_watch(url: Url = None, token: Token = None, *, as_json: Json = False) -> None:
    """Print pending requests, and each change as it happens, until interrupted."""
    from app.cli.approvals import watch
    from app.cli.target import find_service

    finish(watch(find_service(url, token), as_json=as_json))


@approvals.command("show")
def approvals_show(
    confirmation_id: Id, url: Url = None, token: Token = None, *, as_json: Json = False
) -> None:
    """Show a call as the page does: what runs, where, why it asks, and the answers."""
    from app.cli.approvals import show
    from app.cli.target import find_service

    finish(show(find_service(url, token), confirmation_id, as_json=as_json))


@approvals.command("approve")
def approvals_approve(
    confirmation_id: Id,
    option: Annotated[
        int | None,
        typer.Option(min=1, help="Number of an answer, from `show`. [default: approve once]"),
    ] = None,
    note: Note = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Approve a call."""
    from app.cli.approvals import Answer, answer
    from app.cli.target import find_service

    wanted = Answer("allow", option, note)
    finish(answer(find_service(url, token), confirmation_id, wanted))


@approvals.command("decline")
def approvals_decline(
    confirmation_id: Id, note: Note = None, url: Url = None, token: Token = None
) -> None:
    """Decline a call."""
    from app.cli.approvals import Answer, answer
    from app.cli.target import find_service

    finish(answer(find_service(url, token), confirmation_id, Answer("deny", None, note)))
