"""Command definitions of `tollgate network`; the implementation is imported on use."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import Json, Token, Url, finish

network = typer.Typer(
    help="Hosts that commands of a project may connect to, and connections that they made.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Hosts = Annotated[
    list[str],
    typer.Argument(
        metavar="HOST...",
        help="Names or addresses with optional ports, such as github.com:22,443, *.example.com "
        "or preset:python.",
    ),
]
Project = Annotated[str, typer.Option("--project", help="ID of the project.")]
_DEFAULT = "default"


@network.command("list")
def network_list(
    project: Annotated[
        str | None, typer.Option("--project", help="ID of a project. [default: all projects]")
    ] = None,
    url: Url = None,
    token: Token = None,
    *,
    as_json: Json = False,
) -> None:
    """List the hosts that each project allows."""
    from app.cli.network import list_hosts
    from app.cli.target import find_service

    finish(list_hosts(find_service(url, token), project, as_json=as_json))


@network.command("allow")
def network_allow(
    hosts: Hosts, project: Project = _DEFAULT, url: Url = None, token: Token = None
) -> None:
    """Allow hosts, from the next call on."""
    from app.cli.network import allow_hosts
    from app.cli.target import find_service

    finish(allow_hosts(find_service(url, token), project, hosts))


@network.command("remove")
def network_remove(
    hosts: Hosts, project: Project = _DEFAULT, url: Url = None, token: Token = None
) -> None:
    """Remove hosts from the list. Removes all of the named hosts or none."""
    from app.cli.network import remove_hosts
    from app.cli.target import find_service

    finish(remove_hosts(find_service(url, token), project, hosts))


@network.command("presets")
def network_presets(url: Url = None, token: Token = None, *, as_json: Json = False) -> None:
    """List the presets with their hosts."""
    from app.cli.network import list_presets
    from app.cli.target import find_service

    finish(list_presets(find_service(url, token), as_json=as_json))


@network.command("log")
def network_log(
    host: Annotated[str | None, typer.Option("--host", help="Only this host.")] = None,
    verdict: Annotated[
        str | None, typer.Option("--verdict", help="Only open, allowed, refused or lost ones.")
    ] = None,
    call: Annotated[
        str | None, typer.Option("--call", help="Only those of a call, by operation ID.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Only those of a project, by ID.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="Number of rows.")] = 50,
    url: Url = None,
    token: Token = None,
    *,
    as_json: Json = False,
) -> None:
    """List the newest connections of commands, including refused ones."""
    from app.cli.network import list_connections
    from app.cli.target import find_service

    filters = {"host": host, "verdict": verdict, "operation_id": call, "project_id": project}
    finish(list_connections(find_service(url, token), filters, limit, as_json=as_json))
