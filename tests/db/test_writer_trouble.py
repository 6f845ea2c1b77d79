"""A full disk, a locked database, a killed process: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

import app.db.commits
import app.db.writer
from app.core.errors import StorageUnavailable
from app.db.writer import SqliteWriter, Transaction
from tests.db.notes import ADD, PATIENCE_S, Commits, add, stored
from tests.support.source import ROOT

BIG = "x" * 400_000


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app.db.writer, "RETRY_S", 0.01)


async def test_a_full_disk_is_reported_at_once_and_everything_is_written_when_there_is_room(
    db: SqliteWriter, path: Path
):
    commits = Commits(db)
    db.append(ADD, (0, BIG))
    await db.flush()

    def fill(transaction: Transaction) -> None:
        pages = transaction.fetch("PRAGMA page_count")[0][0]
        transaction.fetch(f"PRAGMA max_page_count = {pages}")

    await db.transact(fill)
    last = 0
    for number in range(1, 11):
        last = db.append(ADD, (number, "y" * 20_000))
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(StorageUnavailable, match=r"full.*free disk space"):
            await db.flush()
    with pytest.raises(StorageUnavailable):
        await db.transact(add(99))
    assert "full" in str(db.error)
    last = db.append(ADD, (11, "later"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM notes WHERE id = 0")
    await commits.reached(last)
    assert stored(path) == list(range(1, 12))
    assert db.error is None
    assert await db.transact(add(12)) == 1


async def test_work_that_finds_the_disk_full_fails_and_leaves_the_writer_whole(
    db: SqliteWriter, path: Path
):
    def overfill(transaction: Transaction) -> None:
        pages = transaction.fetch("PRAGMA page_count")[0][0]
        transaction.fetch(f"PRAGMA max_page_count = {pages}")
        transaction.execute(ADD.sql, (1, BIG))

    with pytest.raises(StorageUnavailable, match="full"):
        await db.transact(overfill)
    db.append(ADD, (2, "small"))
    await db.flush()
    assert stored(path) == [2]


async def test_a_locked_database_is_reported_and_left_when_it_is_free_again(
    db: SqliteWriter, path: Path
):
    commits = Commits(db)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mark = db.append(ADD, (1, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable, match=r"locked.*another process") as caught:
                await db.flush()
        assert caught.value.retryable
        other.execute("ROLLBACK")
    await commits.reached(mark)
    assert stored(path) == [1]


async def test_work_queued_behind_a_failing_commit_fails_with_it_and_is_not_done_later(
    db: SqliteWriter, path: Path
):
    commits = Commits(db)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mark = db.append(ADD, (1, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable):
                await db.transact(add(2))
        other.execute("ROLLBACK")
    await commits.reached(mark)
    assert await db.transact(add(3)) == 1
    assert stored(path) == [1, 3]


async def test_work_on_a_locked_database_fails_alone(db: SqliteWriter, path: Path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="locked"):
            await db.transact(add(1))
        other.execute("ROLLBACK")
    assert await db.transact(add(2)) == 1
    assert stored(path) == [2]


async def test_a_queue_that_would_grow_without_end_refuses(
    db: SqliteWriter, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app.db.writer, "MAX_PENDING_ROWS", 5)
    commits = Commits(db)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(5):
            db.append(ADD, (number, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable):
                await db.flush()
        with pytest.raises(StorageUnavailable):
            db.append(ADD, (5, "x"))
        other.execute("ROLLBACK")
    await commits.reached(5)
    assert stored(path) == [0, 1, 2, 3, 4]


WRITER = """
import asyncio, sys
from pathlib import Path
from app.db.writer import SqliteWriter
from tests.db.notes import ADD

async def main(path, first):
    db = SqliteWriter(Path(path))
    await db.start()
    number = first
    while True:
        for _ in range(number % 7 + 1):
            db.append(ADD, (number, "x" * (number % 2000)))
            number += 1
        await db.flush()
        print(number, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(path: Path):
    dice = random.Random(7)
    reached = 0
    for _ in range(4):
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            WRITER,
            str(path),
            str(reached),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert child.stdout is not None
        async with asyncio.timeout(60):
            for _ in range(dice.randint(5, 120)):
                reached = int(await child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = (await child.stdout.read()).split()
        await child.wait()
        # A line that was cut off was not acknowledged; a whole one was.
        acknowledged = max([reached, *map(int, rest[:-1])])
        kept = stored(path)
        assert kept == list(range(len(kept)))
        assert len(kept) >= acknowledged
        assert stored(path, "PRAGMA integrity_check") == ["ok"]
        reached = len(kept)


async def test_a_database_that_another_process_writes_meanwhile_is_switched_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "rollback.db"
    with closing(sqlite3.connect(path)) as fresh, fresh:
        fresh.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("INSERT INTO notes VALUES (1, 'theirs')")
        monkeypatch.setattr(app.db.commits, "wait", lambda _: other.commit())
        writer = SqliteWriter(path)
        await writer.start()
        await writer.transact(add(2))
        await writer.close()
    assert stored(path) == [1, 2]
