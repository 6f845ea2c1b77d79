"""`tollgate sources …`: the data sources here. A running service sees a change within a second.

A password comes from a file or from standard input, never from the command line, where every
process of the machine could read it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from app.core.clock import SystemClock
from app.core.errors import InvalidInput, NotFound
from app.core.settings import Settings
from app.core.visible import visible
from app.db.ledger import SqliteLedger
from app.db.schema import ensure_schema
from app.execution.setup import redactor_of
from app.governance.audit.writing import Audit
from app.governance.changes import Changes
from app.knowledge.sources.drivers.protocol import TableFacts
from app.knowledge.sources.inspection import MAX_LISTED
from app.knowledge.sources.model import AllowedTable, Source, TableName
from app.knowledge.sources.setup import Sources, assemble_sources
from app.knowledge.sources.store import Change

ACTOR = "cli"
KINDS, TLS = ("mysql", "postgres", "sqlite"), ("verify", "require", "off")
MAX_PASSWORD = 1000


@dataclass(frozen=True, slots=True)
class Terms:
    """What the command line says of who may read what; tables as they were typed."""

    agents: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    unmask: tuple[str, ...] = ()
    no_agents: tuple[str, ...] = ()
    no_tables: tuple[str, ...] = ()


@asynccontextmanager
async def open_sources(settings: Settings) -> AsyncIterator[Sources]:
    """The data sources of this installation; its database is made or migrated first.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the keys of the settings are no keys.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    ledger = SqliteLedger(settings.database_path)
    await ledger.start()
    try:
        clock, redactor = SystemClock(), redactor_of(settings)
        audit = Audit(ledger, clock, redactor, level=settings.audit_detail)
        sources = assemble_sources(
            settings, ledger, clock, audit=audit, changes=Changes(ledger), redactor=redactor
        )
        await sources.store.load()
        try:
            yield sources
        finally:
            await sources.reading.close()
    finally:
        await ledger.close()


def password_of(place: Path | None) -> str | None:
    """The password in a file, or on standard input for `-`, without its line end.

    Raises:
        InvalidInput: it cannot be read, or is not one line of text.
    """
    if place is None:
        return None
    shown = "standard input" if place == Path("-") else str(place)
    try:
        raw = sys.stdin.buffer.readline() if place == Path("-") else place.read_bytes()
        text = raw.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InvalidInput(f"--password-file: {shown} cannot be read: {why}") from None
    if not text or "\n" in text or len(text) > MAX_PASSWORD:
        raise InvalidInput(
            f"--password-file: {shown} must hold one line of 1 to {MAX_PASSWORD} characters"
        )
    return text


async def list_sources(settings: Settings, *, as_json: bool) -> int:
    """Print every source, by name."""
    async with open_sources(settings) as sources:
        known = sources.store.list_all()
    if as_json:
        _print([{"id": item.id, **item.shown()} for item in known])
        return 0
    for item in known:
        state = "enabled" if item.enabled else "disabled"
        readers = ", ".join(item.agents) or "nobody"
        typer.echo(
            f"{item.id}  {item.kind:8}  {state:8}  {visible(item.name)}  {visible(_place(item))}"
            f"  tables: {len(item.tables)}, read by {visible(readers)}"
        )
    if not known:
        typer.echo("No data sources. `tollgate sources add NAME` stores one.", err=True)
    return 0


async def add_source(settings: Settings, fields: Mapping[str, Any], password: str | None) -> int:
    """Store a source and print its id alone on standard output.

    Raises:
        InvalidInput: a field does not fit; it is named.
        AlreadyExists: another source has that name.
    """
    for name, choices in (("kind", KINDS), ("tls", TLS)):
        if fields[name] not in choices:
            raise InvalidInput(f"--{name} {fields[name]!r} is not one of {', '.join(choices)}")
    async with open_sources(settings) as sources:
        made = await sources.store.create(Change(fields, password), actor=ACTOR)
    typer.echo(made.id)
    typer.echo(
        f"Stored. See what is in it with `tollgate sources tables {made.id}`, and let agents"
        f" read it with `tollgate sources authorise {made.id} --agent ID --table SCHEMA.TABLE`.",
        err=True,
    )
    return 0


async def test_source(settings: Settings, named: str, *, as_json: bool) -> int:
    """Print what connecting showed; 1 when the source cannot be used.

    Raises:
        NotFound: there is no such source.
    """
    async with open_sources(settings) as sources:
        found = await sources.inspection.test(_find(sources, named).id)
    if as_json:
        _print(found.to_dict())
    elif found.ok:
        tls = "encrypted" if found.tls else "not encrypted"
        typer.echo(f"ok: {visible(found.server or '')}, {found.latency_ms:g} ms, {tls}")
        for warning in found.warnings:
            typer.echo(f"warning: {visible(warning.sentence)}")
    else:
        typer.echo(f"error: {visible(found.error or '')}", err=True)
    return 0 if found.ok else 1


async def list_tables(settings: Settings, named: str, *, as_json: bool) -> int:
    """Print what the source's account can see.

    Raises:
        NotFound: there is no such source.
        Conflict: it cannot be asked now.
    """
    async with open_sources(settings) as sources:
        source = _find(sources, named)
        found = await sources.inspection.discover(source.id)
    told = [_table(facts, source) for facts in found]
    if as_json:
        _print(told)
        return 0
    for table in told:
        mark = "allowed" if table["allowed"] else "-"
        columns = ", ".join(
            f"{column['name']} (masked)" if column["masked"] else column["name"]
            for column in table["columns"]
        )
        typer.echo(f"{mark:7}  {visible(table['table'])}  {visible(columns)}")
    if len(found) == MAX_LISTED:
        typer.echo(f"These are the first {MAX_LISTED}; there may be more.", err=True)
    return 0


async def authorise(settings: Settings, named: str, terms: Terms) -> int:
    """Change who may read what, and print it.

    Raises:
        NotFound: there is no such source.
        InvalidInput: a table cannot be read as one, or is not on the list; it is named.
        VersionMismatch: somebody else has changed it meanwhile.
    """
    if terms == Terms():
        raise InvalidInput("say what changes: --agent, --table, --unmask, --no-agent, --no-table")
    async with open_sources(settings) as sources:
        before = _find(sources, named)
        fields = {"agents": _agents(before, terms), "tables": _tables(before, terms)}
        after = await sources.store.change(
            before.id, Change(fields), actor=ACTOR, expected=before.version
        )
    typer.echo(f"{visible(after.name)} is read by {visible(', '.join(after.agents) or 'nobody')}")
    for item in after.tables:
        masked = f"  masked: {', '.join(item.masked)}" if item.masked else ""
        typer.echo(f"  {visible(str(item.table) + masked)}")
    typer.echo(f"Check it with `tollgate sources test {after.id}`.", err=True)
    return 0


async def remove_source(settings: Settings, named: str, *, yes: bool) -> int:
    """Forget a source, or say which one it would be.

    Raises:
        NotFound: there is no such source.
    """
    async with open_sources(settings) as sources:
        source = _find(sources, named)
        if yes:
            await sources.store.remove(source.id, actor=ACTOR)
    what = f"{source.id} {visible(source.name)}"
    typer.echo(f"Removed {what}." if yes else f"{what} would be removed; --yes does it", err=True)
    return 0


def _find(sources: Sources, named: str) -> Source:
    for item in sources.store.list_all():
        if named in (item.id, item.name):
            return item
    raise NotFound(f"No data source {named!r}")


def _place(source: Source) -> str:
    address = source.address
    where = address.file or address.unix_socket or address.host or ""
    port = f":{address.port}" if address.port and address.host else ""
    return f"{where}{port}/{address.database}" if address.database else f"{where}{port}"


def _table(facts: TableFacts, source: Source) -> dict[str, Any]:
    allowed = next((item for item in source.tables if item.table == facts.table), None)
    masked = {name.lower() for name in allowed.masked} if allowed else set[str]()
    return {
        "table": str(facts.table),
        "kind": facts.kind,
        "allowed": allowed is not None,
        "columns": [
            {"name": column.name, "type": column.type, "masked": column.name.lower() in masked}
            for column in facts.columns
        ],
    }


def _agents(source: Source, terms: Terms) -> tuple[str, ...]:
    listed = dict.fromkeys((*source.agents, *terms.agents))
    for agent_id in terms.no_agents:
        if agent_id not in listed:
            raise InvalidInput(f"--no-agent {agent_id!r}: that agent may not read it anyway")
        del listed[agent_id]
    return tuple(listed)


def _tables(source: Source, terms: Terms) -> tuple[AllowedTable, ...]:
    listed = {item.table: item for item in source.tables}
    for typed in terms.tables:
        name, columns = _read_table(typed, "--table")
        # Whoever lists a table once more does not mean to show what was hidden in it.
        masked = _joined(listed[name].masked if name in listed else (), columns)
        listed[name] = AllowedTable(name, masked)
    for typed in terms.unmask:
        name, columns = _read_table(typed, "--unmask")
        item = _listed(listed, name, "--unmask")
        hidden = {column.lower() for column in item.masked}
        if not columns or any(column.lower() not in hidden for column in columns):
            raise InvalidInput(f"--unmask {typed!r}: of {name} are masked: {_said(item.masked)}")
        shown = {column.lower() for column in columns}
        kept = tuple(column for column in item.masked if column.lower() not in shown)
        listed[name] = replace(item, masked=kept)
    for typed in terms.no_tables:
        name, _ = _read_table(typed, "--no-table")
        _listed(listed, name, "--no-table")
        del listed[name]
    return tuple(listed.values())


def _read_table(typed: str, option: str) -> tuple[TableName, tuple[str, ...]]:
    """`schema.table:a,b`: everything behind the first dot and before the colon is the table."""
    place, _, columns = typed.partition(":")
    schema, _, name = place.partition(".")
    if not schema.strip() or not name.strip():
        raise InvalidInput(f"{option} {typed!r} is not SCHEMA.TABLE or SCHEMA.TABLE:COLUMN,...")
    return TableName(schema, name), tuple(part for part in columns.split(",") if part)


def _listed(listed: Mapping[TableName, AllowedTable], name: TableName, option: str) -> AllowedTable:
    if name not in listed:
        raise InvalidInput(f"{option}: {name} is not on the list: {_said(map(str, listed))}")
    return listed[name]


def _joined(before: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    columns = {column.lower(): column for column in (*before, *more)}
    return tuple(columns.values())


def _said(listed: Iterable[str]) -> str:
    return ", ".join(listed) or "none"


def _print(document: Any) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))
