"""`tollgate memory …`: what is remembered here. A running service sees a change at once."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import typer

from app.core.clock import SystemClock
from app.core.errors import InvalidInput
from app.core.settings import Settings
from app.core.visible import visible
from app.db.ledger import SqliteLedger
from app.db.schema import ensure_schema
from app.execution.setup import redactor_of
from app.governance.audit.writing import Audit
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.opening import memory_on
from app.knowledge.memory.selecting import Filters
from app.tools.memory.ports import Memory, Scope

ACTOR = "cli"
SCOPES = ("agent", "user", "project")
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line narrows the memories to."""

    scope: str | None = None
    owner: str | None = None
    tag: str | None = None
    query: str | None = None

    def filters(self) -> Filters:
        """For the store.

        Raises:
            InvalidInput: the scope is none.
        """
        if self.scope is not None and self.scope not in SCOPES:
            raise InvalidInput(f"--scope {self.scope!r} is not agent, user or project")
        return Filters(cast("Scope | None", self.scope), self.owner, self.tag, self.query)


@asynccontextmanager
async def open_memory(settings: Settings) -> AsyncIterator[MemoryAdministration]:
    """The memory of this installation; its database is made or migrated first.

    Raises:
        StorageUnavailable: the data directory cannot be written.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    ledger = SqliteLedger(settings.database_path)
    await ledger.start()
    try:
        clock, redactor = SystemClock(), redactor_of(settings)
        audit = Audit(ledger, clock, redactor, level=settings.audit_detail)
        memory = memory_on(settings, ledger, clock, redactor, audit)
        try:
            yield memory
        finally:
            await memory.close()
    finally:
        await ledger.close()


async def list_memories(settings: Settings, wish: Wish, *, limit: int, as_json: bool) -> int:
    """Print the newest memories that fit, the newest first.

    Raises:
        InvalidInput: the scope is none.
    """
    filters = wish.filters()
    async with open_memory(settings) as memory:
        found, total = await memory.page(filters, limit=limit)
        shown = [memory.shown(item) for item in found]
    if as_json:
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    for item, facts in zip(found, shown, strict=True):
        typer.echo(_told(item, str(facts["content"])))
    if total > len(found):
        typer.echo(f"{total - len(found)} more; --limit shows them", err=True)
    elif not found:
        typer.echo("Nothing is remembered that fits.", err=True)
    return 0


async def export_memories(settings: Settings, wish: Wish) -> int:
    """Write every memory that fits as a line of JSON, the oldest first.

    Raises:
        InvalidInput: the scope is none.
    """
    filters = wish.filters()
    async with open_memory(settings) as memory:
        async for lines in memory.export(filters, actor=ACTOR):
            sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()
    return 0


async def forget_memory(settings: Settings, memory_id: str) -> int:
    """Forget one memory.

    Raises:
        NotFound: there is none of that id.
    """
    async with open_memory(settings) as memory:
        gone = await memory.forget(memory_id, actor=ACTOR)
    typer.echo(f"Forgot {gone.id}: {gone.place.scope} {visible(gone.place.owner)}.", err=True)
    return 0


async def forget_memories(settings: Settings, wish: Wish, *, every: bool, yes: bool) -> int:
    """Forget all that fit; without `yes` only count them.

    Raises:
        InvalidInput: nothing narrows it, and `every` was not said.
    """
    filters = wish.filters()
    if not filters.facts() and not every:
        raise InvalidInput("give an ID, --scope, --owner, --tag or --query; or --every for all")
    async with open_memory(settings) as memory:
        found = await memory.count(filters)
        if not yes:
            typer.echo(f"{found} would be forgotten; --yes does it", err=True)
            return 0
        gone = await memory.forget_many(filters, actor=ACTOR, expected=found)
    typer.echo(f"Forgot {gone}.", err=True)
    return 0


def _told(memory: Memory, content: str) -> str:
    line = " ".join(content.split())
    if len(line) > _SHOWN_CHARS:
        line = line[: _SHOWN_CHARS - 1] + "…"
    name = visible(f"{memory.place.scope}:{memory.place.owner}/{memory.key}")
    return f"{memory.id}  {memory.updated_at}  {name}  {visible(line)}"
