"""A small database of its own, so that these tests depend on no table of the product."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from app.db.writer import SqliteWriter
from tests.db.notes import SCHEMA, Timed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


@pytest.fixture
async def db(path: Path) -> AsyncIterator[SqliteWriter]:
    opened = Timed(path, busy_timeout_s=0.05)
    await opened.start()
    yield opened
    await opened.close()
