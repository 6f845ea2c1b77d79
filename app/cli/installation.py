"""What a command needs of the installation without starting the whole gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.core.clock import SystemClock
from app.core.errors import ConfigurationError
from app.core.settings import Settings
from app.db.schema import ensure_schema
from app.db.writer import SqliteWriter
from app.execution.setup import redactor_of
from app.governance.audit.writing import Audit
from app.governance.identity.known import Known, known_names
from app.governance.identity.tokens import Tokens


@asynccontextmanager
async def open_tokens(settings: Settings) -> AsyncIterator[Tokens]:
    """As `open_named_tokens`, the tokens alone."""
    async with open_named_tokens(settings) as (tokens, _):
        yield tokens


@asynccontextmanager
async def open_named_tokens(settings: Settings) -> AsyncIterator[tuple[Tokens, Known]]:
    """The tokens of this installation, and what they may name; its database is made or migrated.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: a newer version has written the database.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    db = SqliteWriter(settings.database_path)
    await db.start()
    clock = SystemClock()
    audit = Audit(db, clock, redactor_of(settings), level=settings.audit_detail)
    try:
        yield Tokens(db, clock, audit), await known_names(db)
    finally:
        await db.close()


async def needs_token(settings: Settings) -> bool:
    """Whether requests must carry a token.

    Raises:
        ConfigurationError: the service would be reachable by other machines without one.
    """
    async with open_tokens(settings) as tokens:
        known = settings.token is not None or await tokens.any_issued()
    if not known and not settings.is_loopback:
        raise ConfigurationError(
            f"{settings.host} can be reached from other machines and no token is set: anybody"
            " could run commands here. Make one with `tollgate token create NAME --admin"
            f" --data-dir {settings.data_dir}`, set TOLLGATE_TOKEN, or listen on 127.0.0.1"
        )
    return known or not settings.open_house
