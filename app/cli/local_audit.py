"""Audit log of a data folder, read from its database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from app.config.settings import Settings
from app.db.engine import Database
from app.governance.audit.anchor import FILE_NAME, AnchorFile
from app.governance.audit.filters import AuditFilters
from app.governance.audit.reader import AuditReader, facts
from app.governance.audit.verify import verify

FOLLOW_S = 0.5


async def stored(
    settings: Settings, filters: AuditFilters, *, limit: int, follow: bool
) -> AsyncIterator[Iterable[Mapping[str, Any]]]:
    """Return the newest rows in chronological order; with `follow`, also later rows."""
    async with _opened(settings) as database:
        reader = AuditReader(database)
        # Rows committed between two queries must be in one of them.
        seen = await reader.last() if follow else 0
        rows = list(reversed(await reader.page(filters, limit=limit)))
        yield map(facts, rows)
        seen = max(seen, rows[-1].seq if rows else 0)
        while follow:
            rows = list(await reader.after(filters, seen))
            yield map(facts, rows)
            if rows:
                seen = rows[-1].seq
            else:
                await asyncio.sleep(FOLLOW_S)


async def verified(settings: Settings) -> dict[str, Any]:
    """Verify the chain and return the result."""
    anchors = AnchorFile(settings.data_dir / FILE_NAME).read()
    async with _opened(settings) as database:
        return (await verify(database, anchors)).to_dict()


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    """Open the database read-only, without creating or migrating it."""
    database = Database(settings.database_path)
    try:
        yield database
    finally:
        await database.close()
