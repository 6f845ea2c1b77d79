"""`tollgate audit`: the audit of this installation, read from its database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import orjson
import typer

from app.core.errors import NotFound
from app.core.settings import Settings
from app.core.visible import visible
from app.db.engine import Database
from app.db.schema import HEAD, current_revision
from app.db.tables import AuditRow
from app.governance.audit.anchor import FILE_NAME, AnchorFile
from app.governance.audit.reading import AuditReader, Filters, line
from app.governance.audit.verify import verify

BROKEN = 1
FOLLOW_S = 0.5
_SHOWN_CHARS = 160


async def show_audit(
    settings: Settings, filters: Filters, *, limit: int, follow: bool, as_json: bool
) -> int:
    """Print the newest rows, oldest of them first; with `follow`, what comes after them too.

    Raises:
        NotFound: there is no database, or it is not of this version.
    """
    async with _opened(settings) as database:
        reader = AuditReader(database)
        # What is committed between two queries must stand in one of them.
        seen = await reader.last() if follow else 0
        rows = list(reversed(await reader.page(filters, limit=limit)))
        _print(rows, as_json=as_json)
        seen = max(seen, rows[-1].seq if rows else 0)
        while follow:
            rows = list(await reader.after(filters, seen))
            _print(rows, as_json=as_json)
            if rows:
                seen = rows[-1].seq
            else:
                await asyncio.sleep(FOLLOW_S)
    return 0


async def verify_audit(settings: Settings, *, as_json: bool) -> int:
    """Check the chain and say where it breaks; exit code 1 when it does.

    Raises:
        NotFound: there is no database, or it is not of this version.
    """
    anchors = AnchorFile(settings.data_dir / FILE_NAME).read()
    async with _opened(settings) as database:
        found = await verify(database, anchors)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif found.broken is not None:
        typer.echo(f"BROKEN at row {found.broken.seq}: {found.broken.why}")
    else:
        typer.echo(f"{found.rows} rows, {found.first_seq} to {found.last_seq}: the chain holds")
        typer.echo(f"its end: {found.head or 'nothing yet'}")
        if not found.anchors and found.rows:
            typer.echo(
                "no end was noted outside the database: a cut tail could not be seen", err=True
            )
    return BROKEN if found.broken else 0


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    """The database as it is: nothing is made or migrated by looking at it."""
    revision = await asyncio.to_thread(current_revision, settings.database_path)
    if revision != HEAD:
        where = str(settings.database_path)
        raise NotFound(
            f"No audit in {where!r}: `tollgate db upgrade` makes the database, or --data-dir"
            " names another"
        )
    database = Database(settings.database_path)
    try:
        yield database
    finally:
        await database.close()


def _print(rows: Sequence[AuditRow], *, as_json: bool) -> None:
    for row in rows:
        typer.echo(line(row).decode().rstrip("\n") if as_json else _told(row))


def _told(row: AuditRow) -> str:
    what = " ".join(
        visible(part)
        for part in (row.tool_name or row.subject, row.verdict, row.outcome)
        if part is not None
    )
    who = visible(row.actor) + (f"/{visible(row.agent_id)}" if row.agent_id else "")
    told = f"{row.seq:>7}  {row.ts}  {row.kind:<22} {who:<16} {what}"
    subject = _subject(row.detail)
    return f"{told}  {visible(subject)}" if subject else told


def _subject(detail: str) -> str:
    """The arguments of a call, or what a change changed, as one short line."""
    try:
        facts = orjson.loads(detail)
    except orjson.JSONDecodeError:
        return ""
    shown = facts.get("args") or facts.get("after") or facts.get("reason") or ""
    text = shown if isinstance(shown, str) else orjson.dumps(shown).decode()
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
