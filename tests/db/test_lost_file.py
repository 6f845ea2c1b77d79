"""A file that is moved, removed or replaced: nothing is acknowledged that is not in it."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import app.db.writer
from app.core.errors import StorageUnavailable
from app.db.engine import Database
from app.db.writer import SqliteWriter
from tests.db.notes import ADD, PATIENCE_S, Commits, add, stored


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app.db.writer, "RETRY_S", 0.01)


def move(path: Path, target: Path) -> None:
    path.rename(target)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_rows_wait_for_a_file_that_was_moved_and_are_written_once_when_it_is_back(
    db: SqliteWriter, path: Path
):
    commits = Commits(db)
    db.append(ADD, (1, "before"))
    await db.flush()
    aside = path.with_suffix(".aside")
    move(path, aside)
    last = db.append(ADD, (2, "meanwhile"))
    with pytest.raises(StorageUnavailable, match=r"was removed while the service runs"):
        await db.flush()
    with pytest.raises(StorageUnavailable):
        await db.transact(add(3))
    assert db.is_lost
    assert names(path.parent).isdisjoint({path.name})
    move(aside, path)
    async with asyncio.timeout(PATIENCE_S):
        await commits.reached(last)
    assert (db.error, db.is_lost) == (None, False)
    assert stored(path) == [1, 2]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_work_is_refused_when_a_file_is_another_one_and_what_there_was_is_rescued(
    db: SqliteWriter, path: Path, suffix: str
):
    db.append(ADD, (1, "before"))
    await db.flush()
    place = path.with_name(path.name + suffix)
    move(place, path.with_name("old"))
    place.touch()
    with pytest.raises(StorageUnavailable, match=r"was replaced while the service runs"):
        await db.transact(add(2))
    (rescued,) = path.parent.glob("notes.rescued-*.db")
    with closing(sqlite3.connect(rescued)) as copy:
        assert copy.execute("SELECT id FROM notes").fetchall() == [(1,)]


async def test_each_loss_has_a_copy_of_its_own(db: SqliteWriter, path: Path):
    aside = path.with_suffix(".aside")
    for number in (1, 2):
        await db.transact(add(number))
        move(path, aside)
        with pytest.raises(StorageUnavailable, match=r"is in notes\.rescued-\d+\.db") as lost:
            await db.transact(add(9))
        (rescued,) = path.parent.glob("notes.rescued-*.db")
        assert rescued.name in str(lost.value)
        assert stored(rescued) == list(range(1, number + 1))
        rescued.unlink()
        move(aside, path)
        async with asyncio.timeout(PATIENCE_S):
            while db.is_lost:
                db.look()
                await asyncio.sleep(0)


def content(path: Path) -> bytes:
    return path.read_bytes()


async def marked(db: SqliteWriter, path: Path) -> bytes:
    """The database's bytes once the mark of this run is in them."""
    await db.mark()
    async with asyncio.timeout(PATIENCE_S):
        while not any(content(path)[60:64]):
            db.look()
            await db.transact(lambda _: None)
    return content(path)


async def test_a_file_that_is_overwritten_in_place_stays_lost_and_is_not_rescued(
    db: SqliteWriter, path: Path, tmp_path: Path
):
    ours = await marked(db, path)
    theirs = tmp_path / "theirs.db"
    shutil.copy(path, theirs)
    with closing(sqlite3.connect(theirs)) as other:
        # The same in size and in its counter of changes, but for the mark of its own service.
        other.execute("PRAGMA user_version = 7")
    assert len(content(theirs)) == len(ours)
    for written in (content(theirs), ours):
        with path.open("r+b") as file:
            file.write(written)
        with pytest.raises(StorageUnavailable, match=r"was overwritten while the service runs"):
            await db.transact(add(2))
        db.append(ADD, (3, "meanwhile"))
        with pytest.raises(StorageUnavailable):
            await db.flush()
        assert db.is_lost
    assert not list(path.parent.glob("*.rescued-*"))


async def test_an_older_state_of_the_same_file_is_noticed(db: SqliteWriter, path: Path):
    former = await marked(db, path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE more (text)")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await db.transact(add(1))
    with path.open("r+b") as file:
        file.write(former)
    with pytest.raises(StorageUnavailable, match=r"was overwritten while the service runs"):
        await db.transact(add(2))


async def test_what_other_programs_write_by_way_of_sqlite_is_no_loss(db: SqliteWriter, path: Path):
    await marked(db, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for number in range(3):
            other.execute("INSERT INTO notes VALUES (?, 'theirs')", (100 + number,))
            other.execute(f"CREATE TABLE t{number} (text)")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            await db.transact(add(number))
    assert db.error is None
    assert stored(path) == [0, 1, 2, 100, 101, 102]


async def test_a_file_that_is_made_smaller_by_way_of_sqlite_is_no_loss(
    db: SqliteWriter, path: Path
):
    await marked(db, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE large AS SELECT zeroblob(1000000) AS content")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await db.transact(add(1))
        before = content(path)
        other.execute("DROP TABLE large")
        other.execute("VACUUM")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert len(content(path)) < len(before)
    await db.transact(add(2))


async def test_a_file_that_is_cut_short_is_noticed(db: SqliteWriter, path: Path):
    before = await marked(db, path)
    with path.open("r+b") as file:
        file.truncate(len(before) // 2)
    with pytest.raises(StorageUnavailable, match=r"was truncated while the service runs"):
        await db.transact(add(1))


async def test_who_reads_makes_no_file_where_there_is_none(tmp_path: Path):
    database = Database(tmp_path / "gone.db")
    with pytest.raises(StorageUnavailable):
        async with database.session() as session:
            await session.connection()
    await database.close()
    assert names(tmp_path) == set()
