"""A memory on a migrated database."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.config.secret_values import redactor_of
from app.config.settings import load_settings
from app.core.clock import ManualClock
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.domain.memory import MemoryAuthor, MemoryInput, MemoryScope, RecallQuery, Saved
from app.governance.audit.log import AuditLog
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.repository import MemoryRepository
from app.knowledge.memory.wiring import memory_on
from tests.support.database import new_database
from tests.support.sql_servers import SqlServer, postgres

ANN = MemoryScope("user", "ann")
WRITER = MemoryAuthor("chat", "ann", None, "ses_1")


@dataclass
class Kept:
    """A memory, and short words for what most tests do with it."""

    admin: MemoryAdministration
    db: SqliteWriter
    redactor: Redactor
    clock: ManualClock = field(default_factory=ManualClock)

    @property
    def store(self) -> MemoryRepository:
        return self.admin.store

    async def save(
        self,
        content: str,
        key: str | None = None,
        *,
        tags: tuple[str, ...] = (),
        place: MemoryScope = ANN,
        expected: int | None = None,
    ) -> Saved:
        return await self.store.save(
            place, MemoryInput(content, tags, key), WRITER, expected=expected
        )

    async def recalled(
        self, query: str | None, place: MemoryScope = ANN, **wanted: Any
    ) -> list[str]:
        found = await self.store.recall([place], RecallQuery(query, **wanted))
        return [line.memory.content for line in found.lines]


@dataclass(frozen=True)
class Databases:
    """A PostgreSQL in which each test gets a database of its own."""

    server: SqlServer
    numbers: Iterator[int] = field(default_factory=count)

    def address(self) -> str:
        name = f"memory{next(self.numbers)}"
        self.server.ask(f"CREATE DATABASE {name}", database="postgres")
        return (
            f"postgresql://postgres@/{name}?host={self.server.socket_path}&port={self.server.port}"
        )


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    with postgres() as server:
        yield Databases(server)


@asynccontextmanager
async def keeping(folder: Path, **memory: Any) -> AsyncIterator[Kept]:
    """A memory in a folder whose database is ready."""
    settings = load_settings(_env_file=None, data_dir=folder, memory=memory)
    db, clock, redactor = (
        SqliteWriter(settings.database_path),
        ManualClock(),
        redactor_of(settings),
    )
    await db.start()
    try:
        audit = AuditLog(db, clock, redactor)
        opened = memory_on(settings, db, clock, redactor, audit)
        try:
            yield Kept(opened, db, redactor, clock)
        finally:
            await opened.close()
    finally:
        await db.close()


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "tollgate.db"
    new_database(path)
    return path


@pytest.fixture
def folder(tmp_path: Path, database: Path) -> Path:
    shutil.copy(database, tmp_path / "tollgate.db")
    return tmp_path


@pytest.fixture
async def kept_in_sqlite(folder: Path) -> AsyncIterator[Kept]:
    async with keeping(folder) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
async def kept(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Kept]:
    """Memory in each kind of database in turn."""
    chosen = {}
    if request.param == "postgres":
        databases: Databases = request.getfixturevalue("databases")
        chosen["postgres"] = databases.address()
    async with keeping(folder, **chosen) as opened:
        yield opened
