"""`tollgate audit`: reads the audit log from a service or its database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import orjson
import typer

from app.cli.options import print_json
from app.cli.target import Place, RemoteService
from app.core.escaping import visible
from app.core.text import dump_json
from app.governance.audit.filters import AuditFilters

PAGE = 500
BROKEN = 1
FOLLOW_S = 1.0
_SHOWN_CHARS = 160


async def show_audit(
    place: Place, filters: AuditFilters, *, limit: int, follow: bool, as_json: bool
) -> int:
    """Print the newest rows in chronological order; with `follow`, keep printing new rows."""
    if isinstance(place, RemoteService):
        pages = _served(place, filters, limit=limit, follow=follow)
    else:
        # Reading the database requires imports that take most of the time of a short answer.
        from app.cli.local_audit import stored

        pages = stored(place.settings, filters, limit=limit, follow=follow)
    async for rows in pages:
        for row in rows:
            typer.echo(_line(row) if as_json else _detail_text(row))
    return 0


async def verify_audit(place: Place, *, as_json: bool) -> int:
    """Verify the hash chain; exit with 1 if it is broken."""
    if isinstance(place, RemoteService):
        found = await place.send("POST", "admin", "audit", "verify")
    else:
        from app.cli.local_audit import verified

        found = await verified(place.settings)
    if as_json:
        print_json(found)
    elif found["broken"]:
        typer.echo(f"BROKEN at row {found['broken']['seq']}: {found['broken']['why']}")
    else:
        rows = f"{found['rows']} rows, {found['first_seq']} to {found['last_seq']}"
        typer.echo(f"{rows}: chain verified")
        typer.echo(f"chain head: {found['head'] or 'none yet'}")
        if not found["anchors"] and found["rows"]:
            typer.echo(
                "no chain head is recorded outside the database, so missing rows at "
                "the end cannot be detected",
                err=True,
            )
    return BROKEN if found["broken"] else 0


async def _served(
    service: RemoteService, filters: AuditFilters, *, limit: int, follow: bool
) -> AsyncIterator[Iterable[Mapping[str, Any]]]:
    """Return rows of a running service in chronological order."""
    wanted = asdict(filters)
    rows: list[dict[str, Any]] = []
    before: int | None = None
    while len(rows) < limit:
        size = min(limit - len(rows), PAGE)
        page = await service.get("admin", "audit", **wanted, limit=size, before=before)
        rows += page["rows"]
        before = page["next_before"]
        if before is None:
            break
    yield reversed(rows)
    seen = rows[0]["seq"] if rows else 0
    while follow:
        await asyncio.sleep(FOLLOW_S)
        fresh = [row async for row in _newer(service, wanted, seen)]
        yield reversed(fresh)
        seen = fresh[0]["seq"] if fresh else seen


async def _newer(
    service: RemoteService, wanted: dict[str, Any], seen: int
) -> AsyncIterator[dict[str, Any]]:
    """Return the rows after `seen`, newest first."""
    before: int | None = None
    while True:
        page = await service.get("admin", "audit", **wanted, limit=PAGE, before=before)
        for row in page["rows"]:
            if row["seq"] <= seen:
                return
            yield row
        before = page["next_before"]
        if before is None:
            return


def _line(row: Mapping[str, Any]) -> str:
    """Return a row in its export form, where `detail` is the hashed text."""
    detail = row["detail"]
    text = detail if isinstance(detail, str) else dump_json(detail).decode()
    return dump_json({**row, "detail": text}).decode()


def _detail_text(row: Mapping[str, Any]) -> str:
    parts = (row.get("tool_name") or row.get("subject"), row.get("verdict"), row.get("outcome"))
    what = " ".join(visible(part) for part in parts if part is not None)
    who = visible(row["actor"]) + (f"/{visible(row['agent_id'])}" if row.get("agent_id") else "")
    line = f"{row['seq']:>7}  {row['ts']}  {row['kind']:<22} {who:<16} {what}"
    subject = _subject(row["detail"])
    return f"{line}  {visible(subject)}" if subject else line


def _subject(detail: Any) -> str:
    """Return a call's arguments, or the changed values, as one short line."""
    if not isinstance(detail, dict):
        return ""
    shown = detail.get("args") or detail.get("after") or detail.get("reason") or ""
    text = shown if isinstance(shown, str) else orjson.dumps(shown).decode()
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
