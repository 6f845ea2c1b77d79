"""Command definitions of `tollgate sources`; the implementation is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import DataDir, Json, finish

if TYPE_CHECKING:
    from app.cli.target import Place

sources = typer.Typer(
    help="Manage the databases that agents may read.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Named = Annotated[str, typer.Argument(metavar="SOURCE", help="ID or name of the data source.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(help="File with the password on one line; - reads from standard input."),
]


@sources.command("list")
def sources_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the data sources, without their passwords."""
    from app.cli.sources import list_sources

    finish(list_sources(_place(data_dir), as_json=as_json))


@sources.command("add")
def sources_add(
    name: Annotated[str, typer.Argument(help="Name that agents use for it.")],
    kind: Annotated[
        str, typer.Option(help="Database kind: mysql (also MariaDB), postgres or sqlite.")
    ],
    host: Annotated[str | None, typer.Option(help="Host name or address of the server.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535)] = None,
    unix_socket: Annotated[
        str | None,
        typer.Option(help="Unix socket to use instead of a host; for PostgreSQL, its folder."),
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Name of the database on the server.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Database user; should have read-only access.")
    ] = None,
    password_file: PasswordFile = None,
    file: Annotated[Path | None, typer.Option(help="File of a SQLite database.")] = None,
    tls: Annotated[str, typer.Option(help="TLS mode: verify, require or off.")] = "verify",
    tls_ca_file: Annotated[
        Path | None, typer.Option(help="File of trusted CA certificates.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Store a data source and print its ID.

    Does not connect to it. No agent may read it until you run `authorise`.
    """
    from app.cli.sources import add_source, password_of

    fields = {
        "name": name,
        "kind": kind,
        "host": host,
        "port": port,
        "unix_socket": unix_socket,
        "database": database,
        "user": user,
        "file": None if file is None else str(file.absolute()),
        "tls": tls,
        "tls_ca_file": None if tls_ca_file is None else str(tls_ca_file.absolute()),
    }
    given = {name: value for name, value in fields.items() if value is not None}
    finish(add_source(_place(data_dir), given, password_of(password_file)))


@sources.command("test")
def sources_test(source: Named, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Test the connection to a data source and report problems. Exits with 1 if it is unusable."""
    from app.cli.sources import test_source

    finish(test_source(_place(data_dir), source, as_json=as_json))


@sources.command("tables")
def sources_tables(source: Named, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tables and columns that the database user can see, allowed or not."""
    from app.cli.sources import list_tables

    finish(list_tables(_place(data_dir), source, as_json=as_json))


@sources.command("authorise")
def sources_authorise(
    source: Named,
    agent: Annotated[
        list[str] | None, typer.Option(help="Agent to allow, or * for all; repeatable.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCHEMA.TABLE[:COLUMN,...]",
            help="Table to allow, with the columns to mask; repeatable.",
        ),
    ] = None,
    unmask: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEMA.TABLE:COLUMN,...", help="Columns to unmask; repeatable."),
    ] = None,
    no_agent: Annotated[list[str] | None, typer.Option(help="Agent to remove; repeatable.")] = None,
    no_table: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEMA.TABLE", help="Table to remove; repeatable."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Change which agents may read which tables. Adds to the current permissions; masks stay."""
    from app.cli.sources import SourceOptions, authorise

    terms = SourceOptions(
        *(tuple(agent or ()), tuple(table or ()), tuple(unmask or ())),
        *(tuple(no_agent or ()), tuple(no_table or ())),
    )
    finish(authorise(_place(data_dir), source, terms))


@sources.command("remove")
def sources_remove(
    source: Named,
    data_dir: DataDir = None,
    *,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Delete; without this option, only show what would be deleted."),
    ] = False,
) -> None:
    """Delete a data source and its password. Its queries stay in the audit log."""
    from app.cli.sources import remove_source

    finish(remove_source(_place(data_dir), source, yes=yes))


def _place(data_dir: Path | None) -> Place:
    from app.cli.target import find_place

    return find_place(data_dir)
