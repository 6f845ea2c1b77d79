"""`tollgate memory …`: manages memories. A running service applies changes immediately."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import typer

from app.cli.installation import open_database
from app.cli.options import print_json
from app.cli.target import Place, RemoteService
from app.config.settings import Settings
from app.core.errors import InvalidInput
from app.core.escaping import visible
from app.domain.memory import Scope
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.selection import MemoryCriteria
from app.knowledge.memory.wiring import memory_on

ACTOR = "cli"
PAGE = 500
SCOPES = ("agent", "user", "project")
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Wish:
    """Filters for memories from the command line."""

    scope: str | None = None
    owner: str | None = None
    tag: str | None = None
    query: str | None = None

    def filters(self) -> MemoryCriteria:
        """Return the filters for the store.

        Raises:
            InvalidInput: The scope is invalid.
        """
        if self.scope is not None and self.scope not in SCOPES:
            raise InvalidInput(f"Invalid --scope {self.scope!r}: must be agent, user or project")
        return MemoryCriteria(cast("Scope | None", self.scope), self.owner, self.tag, self.query)


@asynccontextmanager
async def open_memory(settings: Settings) -> AsyncIterator[MemoryAdministration]:
    """Open the memory of this installation; creates or migrates its database.

    Raises:
        StorageUnavailable: The data folder is not writable.
    """
    async with open_database(settings) as opened:
        memory = memory_on(settings, opened.db, opened.clock, opened.redactor, opened.audit)
        try:
            yield memory
        finally:
            await memory.close()


async def list_memories(place: Place, wish: Wish, *, limit: int, as_json: bool) -> int:
    """Print the newest matching memories, newest first.

    Raises:
        InvalidInput: The scope is invalid.
    """
    filters = wish.filters()
    if isinstance(place, RemoteService):
        shown, total = await _page_of(place, filters.facts(), limit)
    else:
        async with open_memory(place.settings) as memory:
            found, total = await memory.page(filters, limit=limit)
            shown = [memory.shown(item) for item in found]
    if as_json:
        print_json({"memories": shown, "total": total})
        return 0
    for facts in shown:
        typer.echo(_memory_text(facts))
    if total > len(shown):
        typer.echo(f"{total - len(shown)} more; use --limit to show them", err=True)
    elif not shown:
        typer.echo("No matching memories.", err=True)
    return 0


async def export_memories(place: Place, wish: Wish) -> int:
    """Print every matching memory as a JSON line, oldest first.

    Raises:
        InvalidInput: The scope is invalid.
    """
    filters = wish.filters()
    if isinstance(place, RemoteService):
        for piece in place.lines("admin", "memory", "export", **filters.facts()):
            sys.stdout.buffer.write(piece)
    else:
        async with open_memory(place.settings) as memory:
            async for lines in memory.export(filters, actor=ACTOR):
                sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()
    return 0


async def forget_memory(place: Place, memory_id: str) -> int:
    """Delete one memory.

    Raises:
        NotFound: No memory has this ID.
    """
    if isinstance(place, RemoteService):
        gone = await place.send("DELETE", "admin", "memory", memory_id)
    else:
        async with open_memory(place.settings) as memory:
            gone = memory.shown(await memory.forget(memory_id, actor=ACTOR))
    whose = f"{gone['scope']} {visible(gone['owner'])}"
    typer.echo(f"Deleted {gone['id']}: {whose}, {place.name}.", err=True)
    return 0


async def forget_memories(place: Place, wish: Wish, *, every: bool, yes: bool) -> int:
    """Delete all matching memories; without `yes`, only count them.

    Raises:
        InvalidInput: No filter is given, and `every` is not set.
    """
    filters = wish.filters()
    if not filters.facts() and not every:
        raise InvalidInput("Give an ID, --scope, --owner, --tag or --query, or --every for all")
    if isinstance(place, RemoteService):
        found, gone = await _forget_served(place, filters.facts(), every=every, yes=yes)
    else:
        async with open_memory(place.settings) as memory:
            found = await memory.count(filters)
            gone = await memory.forget_many(filters, actor=ACTOR, expected=found) if yes else 0
    if not yes:
        typer.echo(f"{found} would be deleted {place.name}; use --yes to delete", err=True)
        return 0
    typer.echo(f"Deleted {gone} {place.name}.", err=True)
    return 0


async def _page_of(
    service: RemoteService, wanted: dict[str, Any], limit: int
) -> tuple[list[dict[str, Any]], int]:
    rows: list[dict[str, Any]] = []
    before: int | None = None
    while True:
        size = min(limit - len(rows), PAGE)
        page = await service.get("admin", "memory", **wanted, limit=size, before=before)
        rows += page["memories"]
        before = page["next_before"]
        if before is None or len(rows) >= limit:
            return rows, page["total"]


async def _forget_served(
    service: RemoteService, wanted: dict[str, Any], *, every: bool, yes: bool
) -> tuple[int, int]:
    """Return the number of matching memories, and of deleted ones."""
    body = {**wanted, "every": every}
    counted = await service.send("POST", "admin", "memory", "forget", body=body)
    found: int = counted["matched"]
    if not yes:
        return found, 0
    body |= {"dry_run": False, "expected": found}
    done = await service.send("POST", "admin", "memory", "forget", body=body)
    return found, done["forgotten"]


def _memory_text(memory: Mapping[str, Any]) -> str:
    line = " ".join(str(memory["content"]).split())
    if len(line) > _SHOWN_CHARS:
        line = line[: _SHOWN_CHARS - 1] + "…"
    name = visible(f"{memory['scope']}:{memory['owner']}/{memory['key']}")
    return f"{memory['id']}  {memory['updated_at']}  {name}  {visible(line)}"
