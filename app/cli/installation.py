"""Parts of the installation that a command opens without starting the whole runtime."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.config.secret_values import redactor_of
from app.config.settings import Settings
from app.core.clock import Clock, SystemClock
from app.core.errors import ConfigurationError
from app.core.redaction import Redactor
from app.db.schema import ensure_schema
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditLog
from app.governance.identity.known_names import KnownNames, known_names
from app.governance.identity.tokens import Tokens


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """The database of this installation, and what its users need with it."""

    db: SqliteWriter
    clock: Clock
    redactor: Redactor
    audit: AuditLog


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[OpenDatabase]:
    """Open the database of this installation; creates or migrates it.

    Raises:
        StorageUnavailable: The data folder is not writable.
        ConfigurationError: A newer version has written the database.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    db = SqliteWriter(settings.database_path)
    await db.start()
    try:
        clock, redactor = SystemClock(), redactor_of(settings)
        audit = AuditLog(db, clock, redactor, level=settings.audit_detail)
        yield OpenDatabase(db, clock, redactor, audit)
    finally:
        await db.close()


@asynccontextmanager
async def open_tokens(settings: Settings) -> AsyncIterator[Tokens]:
    """Open the tokens as `open_named_tokens` does, without the names they may refer to."""
    async with open_named_tokens(settings) as (tokens, _):
        yield tokens


@asynccontextmanager
async def open_named_tokens(settings: Settings) -> AsyncIterator[tuple[Tokens, KnownNames]]:
    """Open the tokens of this installation and the names they may refer to.

    Creates or migrates the database.

    Raises:
        StorageUnavailable: The data folder is not writable.
        ConfigurationError: A newer version has written the database.
    """
    async with open_database(settings) as opened:
        tokens = Tokens(opened.db, opened.clock, opened.audit)
        yield tokens, await known_names(opened.db)


async def needs_token(settings: Settings) -> bool:
    """Return whether requests must carry a token.

    Raises:
        ConfigurationError: The service would accept requests from other machines without a token.
    """
    async with open_tokens(settings) as tokens:
        known = settings.token is not None or await tokens.any_issued()
    if not known and not settings.is_loopback:
        raise ConfigurationError(
            f"{settings.host} can be reached from other machines and no token exists, "
            "so anyone could run commands here. Create one with `tollgate token "
            f"create NAME --admin --data-dir {settings.data_dir}`, set TOLLGATE_TOKEN, "
            "or listen on 127.0.0.1"
        )
    return known or not settings.allow_anonymous
