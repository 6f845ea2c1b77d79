"""The words of `tollgate sources`; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import DataDir, Json, finish

if TYPE_CHECKING:
    from app.cli.place import Place

sources = typer.Typer(
    help="Databases that agents may read, and who may read what of them.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Named = Annotated[str, typer.Argument(metavar="SOURCE", help="Id or name of the source.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(help="File of the password, one line; - reads it from standard input."),
]


@sources.command("list")
def sources_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the sources, without their passwords."""
    from app.cli.sources import list_sources

    finish(list_sources(_place(data_dir), as_json=as_json))


@sources.command("add")
def sources_add(
    name: Annotated[str, typer.Argument(help="What agents call it.")],
    kind: Annotated[str, typer.Option(help="mysql (MariaDB too), postgres or sqlite.")],
    host: Annotated[str | None, typer.Option(help="Name or address of the server.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535)] = None,
    unix_socket: Annotated[
        str | None, typer.Option(help="Instead of the host; of PostgreSQL its folder.")
    ] = None,
    database: Annotated[str | None, typer.Option(help="Its name on the server.")] = None,
    user: Annotated[str | None, typer.Option(help="Account that may only read.")] = None,
    password_file: PasswordFile = None,
    file: Annotated[Path | None, typer.Option(help="The file, of SQLite.")] = None,
    tls: Annotated[str, typer.Option(help="verify, require or off.")] = "verify",
    tls_ca_file: Annotated[Path | None, typer.Option(help="Certificates to trust.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Store a source and print its id. Nothing is connected, and nobody may read it yet."""
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
    """Connect to a source and say what to mend; exit code 1 when it cannot be used."""
    from app.cli.sources import test_source

    finish(test_source(_place(data_dir), source, as_json=as_json))


@sources.command("tables")
def sources_tables(source: Named, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tables that its account can see, allowed or not, with their columns."""
    from app.cli.sources import list_tables

    finish(list_tables(_place(data_dir), source, as_json=as_json))


@sources.command("authorise")
def sources_authorise(
    source: Named,
    agent: Annotated[
        list[str] | None, typer.Option(help="Agent that may read it, or *; repeatable.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCHEMA.TABLE[:COLUMN,...]",
            help="Table that may be read, and its masked columns; repeatable.",
        ),
    ] = None,
    unmask: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEMA.TABLE:COLUMN,...", help="Columns to show again; repeatable."),
    ] = None,
    no_agent: Annotated[
        list[str] | None, typer.Option(help="Agent that may no longer read it; repeatable.")
    ] = None,
    no_table: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEMA.TABLE", help="Table that nobody may read; repeatable."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Say who may read which tables. It adds to what was said before; masks stay."""
    from app.cli.sources import Terms, authorise

    terms = Terms(
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
        bool, typer.Option("--yes", help="Remove; without this option, only name it.")
    ] = False,
) -> None:
    """Forget a source and its password; its queries stay in the audit."""
    from app.cli.sources import remove_source

    finish(remove_source(_place(data_dir), source, yes=yes))


def _place(data_dir: Path | None) -> Place:
    from app.cli.place import find_place

    return find_place(data_dir)
