"""A file that is moved, removed or replaced: nothing is acknowledged that is not in it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import app.db.ledger
from app.core.errors import StorageUnavailable
from app.db.engine import Database
from app.db.ledger import SqliteLedger
from tests.db.notes import ADD, PATIENCE_S, Commits, add, stored


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app.db.ledger, "RETRY_S", 0.01)


def move(path: Path, target: Path) -> None:
    path.rename(target)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_rows_wait_for_a_file_that_was_moved_and_are_written_once_when_it_is_back(
    ledger: SqliteLedger, path: Path
):
    commits = Commits(ledger)
    ledger.append(ADD, (1, "before"))
    await ledger.durable()
    aside = path.with_suffix(".aside")
    move(path, aside)
    last = ledger.append(ADD, (2, "meanwhile"))
    with pytest.raises(StorageUnavailable, match=r"was removed while the service runs"):
        await ledger.durable()
    with pytest.raises(StorageUnavailable):
        await ledger.transact(add(3))
    assert ledger.is_lost
    assert names(path.parent).isdisjoint({path.name})
    move(aside, path)
    async with asyncio.timeout(PATIENCE_S):
        await commits.reached(last)
    assert (ledger.error, ledger.is_lost) == (None, False)
    assert stored(path) == [1, 2]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_work_is_refused_when_a_file_is_another_one_and_what_there_was_is_rescued(
    ledger: SqliteLedger, path: Path, suffix: str
):
    ledger.append(ADD, (1, "before"))
    await ledger.durable()
    place = path.with_name(path.name + suffix)
    move(place, path.with_name("old"))
    place.touch()
    with pytest.raises(StorageUnavailable, match=r"was replaced while the service runs"):
        await ledger.transact(add(2))
    (rescued,) = path.parent.glob("notes.rescued-*.db")
    with closing(sqlite3.connect(rescued)) as copy:
        assert copy.execute("SELECT id FROM notes").fetchall() == [(1,)]


async def test_who_reads_makes_no_file_where_there_is_none(tmp_path: Path):
    database = Database(tmp_path / "gone.db")
    with pytest.raises(StorageUnavailable):
        async with database.session() as session:
            await session.connection()
    await database.close()
    assert names(tmp_path) == set()
