"""`tollgate sources …`: manages data sources. A running service applies changes within a second.

Passwords are read from a file or standard input, never from the command line, which every process
of the machine can read.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from getpass import getpass
from pathlib import Path
from typing import Any

import typer

from app.cli.installation import open_database, open_named_tokens
from app.cli.options import print_json
from app.cli.target import InstallationFolder, Place, RemoteService, tell_change
from app.cli.terminal import is_terminal
from app.config.settings import Settings
from app.core.errors import InvalidInput, NotFound
from app.core.escaping import visible
from app.governance.config_versions import ConfigVersions
from app.governance.identity.known_names import DEFAULT, KnownNames
from app.knowledge.sources.drivers.protocol import TableFacts
from app.knowledge.sources.inspection import MAX_LISTED
from app.knowledge.sources.model import (
    EVERYBODY,
    AllowedTable,
    Source,
    TableName,
    tables_as_json,
    tables_of_json,
)
from app.knowledge.sources.setup import SourceServices, assemble_sources
from app.knowledge.sources.store import SourceUpdate

ACTOR = "cli"
KINDS, TLS = ("mysql", "postgres", "sqlite"), ("verify", "require", "off")
MAX_PASSWORD = 1000


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Permissions given on the command line, with tables as typed."""

    agents: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    unmask: tuple[str, ...] = ()
    no_agents: tuple[str, ...] = ()
    no_tables: tuple[str, ...] = ()


@asynccontextmanager
async def open_sources(settings: Settings) -> AsyncIterator[SourceServices]:
    """Open the data sources of this installation; creates or migrates its database.

    Raises:
        StorageUnavailable: The data folder is not writable.
        ConfigurationError: The configured encryption keys are invalid.
    """
    async with open_database(settings) as opened:
        sources = assemble_sources(
            settings,
            opened.db,
            opened.clock,
            audit=opened.audit,
            changes=ConfigVersions(opened.db),
            redactor=opened.redactor,
        )
        await sources.store.load()
        try:
            yield sources
        finally:
            await sources.reading.close()


def password_of(place: Path | None) -> str | None:
    """Read the password from a file, or from standard input for `-`, without its line ending.

    Raises:
        InvalidInput: The file cannot be read, or is not one line of text.
    """
    if place is None:
        return None
    shown = "standard input" if place == Path("-") else str(place)
    try:
        raw = _typed() if place == Path("-") else place.read_bytes()
        text = raw.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InvalidInput(f"--password-file: cannot read {shown}: {why}") from None
    if not text or "\n" in text or len(text) > MAX_PASSWORD:
        raise InvalidInput(
            f"--password-file: {shown} must hold one line of 1 to {MAX_PASSWORD} characters"
        )
    return text


def _typed() -> bytes:
    """Read a line of standard input; a terminal does not echo it."""
    if is_terminal(sys.stdin):
        return getpass("Password: ").encode()
    return sys.stdin.buffer.readline()


async def list_sources(place: Place, *, as_json: bool) -> int:
    """Print every source, by name."""
    rows = await _stored(place)
    if as_json:
        print_json({"sources": rows}, default=str)
        return 0
    for row in rows:
        state = "enabled" if row["enabled"] else "disabled"
        readers = ", ".join(row["agents"]) or "nobody"
        typer.echo(
            f"{row['id']}  {row['kind']:8}  {state:8}  {visible(row['name'])}"
            f"  {visible(_address(row))}  tables: {len(row['tables'])}, read by {visible(readers)}"
        )
    if not rows:
        typer.echo("No data sources. Add one with `tollgate sources add NAME`.", err=True)
    return 0


async def add_source(place: Place, fields: Mapping[str, Any], password: str | None) -> int:
    """Store a source and print only its ID on standard output.

    Raises:
        InvalidInput: A field is invalid; the error names it.
        AlreadyExists: Another source has this name.
    """
    for name, choices in (("kind", KINDS), ("tls", TLS)):
        if fields[name] not in choices:
            raise InvalidInput(
                f"Invalid --{name} {fields[name]!r}: must be one of {', '.join(choices)}"
            )
    if isinstance(place, RemoteService):
        body = {**fields} if password is None else {**fields, "password": password}
        made_id = (await place.send("POST", "admin", "data-sources", body=body))["id"]
    else:
        async with open_sources(place.settings) as sources:
            made_id = (await sources.store.create(SourceUpdate(fields, password), actor=ACTOR)).id
    typer.echo(made_id)
    typer.echo(
        f"Stored {place.name}. List its tables with `tollgate sources tables "
        f"{made_id}`, and allow agents to read it with `tollgate sources authorise "
        f"{made_id} --agent ID --table SCHEMA.TABLE`.",
        err=True,
    )
    return 0


async def test_source(place: Place, named: str, *, as_json: bool) -> int:
    """Print the result of a connection test; return 1 if the source is unusable.

    Raises:
        NotFound: The source does not exist.
    """
    row = await _find(place, named)
    if isinstance(place, RemoteService):
        found = await place.send("POST", "admin", "data-sources", row["id"], "test")
    else:
        async with open_sources(place.settings) as sources:
            found = (await sources.inspection.test(row["id"])).to_dict()
    if as_json:
        print_json(found, default=str)
    elif found["ok"]:
        tls = "encrypted" if found["tls"] else "not encrypted"
        typer.echo(f"ok: {visible(found['server'] or '')}, {found['latency_ms']:g} ms, {tls}")
        for warning in found["warnings"]:
            typer.echo(f"warning: {visible(warning)}")
    else:
        typer.echo(f"error: {visible(found['error'] or '')}", err=True)
    return 0 if found["ok"] else 1


async def list_tables(place: Place, named: str, *, as_json: bool) -> int:
    """Print the tables that the database user can see.

    Raises:
        NotFound: The source does not exist.
        Conflict: The source is unavailable.
    """
    row = await _find(place, named)
    if isinstance(place, RemoteService):
        tables = (await place.get("admin", "data-sources", row["id"], "tables"))["tables"]
    else:
        async with open_sources(place.settings) as sources:
            found = await sources.inspection.discover(row["id"])
        tables = [_table(facts, _allowed(row)) for facts in found]
    if as_json:
        print_json({"tables": tables}, default=str)
        return 0
    for table in tables:
        mark = "allowed" if table["allowed"] else "-"
        columns = ", ".join(
            f"{column['name']} (masked)" if column["masked"] else column["name"]
            for column in table["columns"]
        )
        name = f"{table['schema']}.{table['name']}"
        typer.echo(f"{mark:7}  {visible(name)}  {visible(columns)}")
    if len(tables) == MAX_LISTED:
        typer.echo(f"Only the first {MAX_LISTED} are listed; there may be more.", err=True)
    return 0


async def authorise(place: Place, named: str, terms: SourceOptions) -> int:
    """Change the permissions of a source and print them.

    Raises:
        NotFound: The source does not exist.
        InvalidInput: An agent does not exist, or a table is malformed or not listed; the error
            names it.
        VersionMismatch: The source was changed concurrently.
    """
    if terms == SourceOptions():
        raise InvalidInput(
            "Nothing to change: use --agent, --table, --unmask, --no-agent or --no-table"
        )
    before = await _find(place, named)
    await _check_agents(place, terms.agents)
    agents = _agents(before["agents"], terms)
    tables = _tables(_allowed(before), terms)
    if isinstance(place, RemoteService):
        body = {"agents": list(agents), "tables": tables_as_json(tables)}
        after = await place.send(
            "PATCH", "admin", "data-sources", before["id"], body=body, version=before["version"]
        )
    else:
        async with open_sources(place.settings) as sources:
            changed = await sources.store.change(
                before["id"],
                SourceUpdate({"agents": agents, "tables": tables}),
                actor=ACTOR,
                expected=before["version"],
            )
        after = _row(changed)
    readers = ", ".join(after["agents"]) or "nobody"
    typer.echo(f"{visible(after['name'])} can be read by {visible(readers)}")
    for item in _allowed(after):
        masked = f"  masked: {', '.join(item.masked)}" if item.masked else ""
        typer.echo(f"  {visible(str(item.table) + masked)}")
    tell_change(place)
    typer.echo(f"Test it with `tollgate sources test {after['id']}`.", err=True)
    return 0


async def remove_source(place: Place, named: str, *, yes: bool) -> int:
    """Delete a source, or print which one would be deleted.

    Raises:
        NotFound: The source does not exist.
    """
    row = await _find(place, named)
    if yes and isinstance(place, RemoteService):
        await place.send("DELETE", "admin", "data-sources", row["id"])
    elif yes and isinstance(place, InstallationFolder):
        async with open_sources(place.settings) as sources:
            await sources.store.remove(row["id"], actor=ACTOR)
    what = f"{row['id']} {visible(row['name'])} {place.name}"
    typer.echo(
        f"Deleted {what}." if yes else f"{what} would be deleted; use --yes to delete", err=True
    )
    return 0


async def _stored(place: Place) -> list[dict[str, Any]]:
    """Return every source in the form of the REST API, by name."""
    if isinstance(place, RemoteService):
        return await place.pages("sources", "admin", "data-sources", limit=500)
    async with open_sources(place.settings) as sources:
        return [_row(item) for item in sources.store.list_all()]


def _row(source: Source) -> dict[str, Any]:
    return {"id": source.id, **source.shown(), "version": source.version}


async def _find(place: Place, named: str) -> dict[str, Any]:
    for row in await _stored(place):
        if named in (row["id"], row["name"]):
            return row
    raise NotFound(f"Data source {named!r} not found")


def _address(row: Mapping[str, Any]) -> str:
    where = row["file"] or row["unix_socket"] or row["host"] or ""
    port = f":{row['port']}" if row["port"] and row["host"] else ""
    return f"{where}{port}/{row['database']}" if row["database"] else f"{where}{port}"


def _allowed(row: Mapping[str, Any]) -> tuple[AllowedTable, ...]:
    return tables_of_json(row["tables"])


def _table(facts: TableFacts, listed: Iterable[AllowedTable]) -> dict[str, Any]:
    allowed = next((item for item in listed if item.table == facts.table), None)
    masked = {name.lower() for name in allowed.masked} if allowed else set[str]()
    return {
        "schema": facts.table.schema,
        "name": facts.table.name,
        "kind": "view" if facts.kind == "view" else "table",
        "comment": facts.comment,
        "allowed": allowed is not None,
        "columns": [
            {"name": column.name, "type": column.type, "masked": column.name.lower() in masked}
            for column in facts.columns
        ],
    }


async def _check_agents(place: Place, ids: Iterable[str]) -> None:
    """Check that the agents exist; `*` means all agents.

    Raises:
        InvalidInput: An agent does not exist; the message lists the existing ones.
    """
    named = [one for one in ids if one != EVERYBODY]
    if not named:
        return
    if isinstance(place, RemoteService):
        rows = await place.pages("agents", "admin", "agents", limit=500)
        known = KnownNames(
            {id_: id_ for id_ in (DEFAULT, *(row["profile"]["id"] for row in rows))}, {}
        )
    else:
        async with open_named_tokens(place.settings) as (_, known):
            pass
    known.check(named, None)


def _agents(before: Iterable[str], terms: SourceOptions) -> tuple[str, ...]:
    listed = dict.fromkeys((*before, *terms.agents))
    for agent_id in terms.no_agents:
        if agent_id not in listed:
            raise InvalidInput(f"--no-agent {agent_id!r}: this agent has no access")
        del listed[agent_id]
    return tuple(listed)


def _tables(before: Iterable[AllowedTable], terms: SourceOptions) -> tuple[AllowedTable, ...]:
    listed = {item.table: item for item in before}
    for typed in terms.tables:
        name, columns = _read_table(typed, "--table")
        # Listing a table again must not unmask its hidden columns.
        masked = _joined(listed[name].masked if name in listed else (), columns)
        listed[name] = AllowedTable(name, masked)
    for typed in terms.unmask:
        name, columns = _read_table(typed, "--unmask")
        item = _listed(listed, name, "--unmask")
        hidden = {column.lower() for column in item.masked}
        if not columns or any(column.lower() not in hidden for column in columns):
            raise InvalidInput(
                f"--unmask {typed!r}: masked columns of {name}: {_said(item.masked)}"
            )
        shown = {column.lower() for column in columns}
        kept = tuple(column for column in item.masked if column.lower() not in shown)
        listed[name] = replace(item, masked=kept)
    for typed in terms.no_tables:
        name, _ = _read_table(typed, "--no-table")
        _listed(listed, name, "--no-table")
        del listed[name]
    return tuple(listed.values())


def _read_table(typed: str, option: str) -> tuple[TableName, tuple[str, ...]]:
    """Parse `schema.table:a,b`: the text after the first dot and before the colon is the table."""
    place, _, columns = typed.partition(":")
    schema, _, name = place.partition(".")
    if not schema.strip() or not name.strip():
        raise InvalidInput(
            f"Invalid {option} {typed!r}: use SCHEMA.TABLE or SCHEMA.TABLE:COLUMN,..."
        )
    return TableName(schema, name), tuple(part for part in columns.split(",") if part)


def _listed(listed: Mapping[TableName, AllowedTable], name: TableName, option: str) -> AllowedTable:
    if name not in listed:
        raise InvalidInput(f"{option}: {name} is not listed: {_said(map(str, listed))}")
    return listed[name]


def _joined(before: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    columns = {column.lower(): column for column in (*before, *more)}
    return tuple(columns.values())


def _said(listed: Iterable[str]) -> str:
    return ", ".join(listed) or "none"
