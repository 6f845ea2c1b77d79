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
import app.db.ledger
from app.core.errors import StorageUnavailable
from app.db.ledger import SqliteLedger, Transaction
from tests.db.notes import ADD, PATIENCE_S, Commits, add, stored
from tests.support.source import ROOT

BIG = "x" * 400_000


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app.db.ledger, "RETRY_S", 0.01)


async def test_a_full_disk_is_told_at_once_and_everything_is_written_when_there_is_room(
    ledger: SqliteLedger, path: Path
):
    commits = Commits(ledger)
    ledger.append(ADD, (0, BIG))
    await ledger.durable()

    def fill(transaction: Transaction) -> None:
        pages = transaction.fetch("PRAGMA page_count")[0][0]
        transaction.fetch(f"PRAGMA max_page_count = {pages}")

    await ledger.transact(fill)
    last = 0
    for number in range(1, 11):
        last = ledger.append(ADD, (number, "y" * 20_000))
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(StorageUnavailable, match=r"full.*free disk space"):
            await ledger.durable()
    with pytest.raises(StorageUnavailable):
        await ledger.transact(add(99))
    assert "full" in str(ledger.error)
    last = ledger.append(ADD, (11, "later"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM notes WHERE id = 0")
    await commits.reached(last)
    assert stored(path) == list(range(1, 12))
    assert ledger.error is None
    assert await ledger.transact(add(12)) == 1


async def test_work_that_finds_the_disk_full_fails_and_leaves_the_writer_whole(
    ledger: SqliteLedger, path: Path
):
    def overfill(transaction: Transaction) -> None:
        pages = transaction.fetch("PRAGMA page_count")[0][0]
        transaction.fetch(f"PRAGMA max_page_count = {pages}")
        transaction.execute(ADD.sql, (1, BIG))

    with pytest.raises(StorageUnavailable, match="full"):
        await ledger.transact(overfill)
    ledger.append(ADD, (2, "small"))
    await ledger.durable()
    assert stored(path) == [2]


async def test_a_locked_database_is_told_and_left_when_it_is_free_again(
    ledger: SqliteLedger, path: Path
):
    commits = Commits(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mark = ledger.append(ADD, (1, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable, match=r"locked.*another process") as caught:
                await ledger.durable()
        assert caught.value.retryable
        other.execute("ROLLBACK")
    await commits.reached(mark)
    assert stored(path) == [1]


async def test_work_queued_behind_a_failing_commit_fails_with_it_and_is_not_done_later(
    ledger: SqliteLedger, path: Path
):
    commits = Commits(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mark = ledger.append(ADD, (1, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable):
                await ledger.transact(add(2))
        other.execute("ROLLBACK")
    await commits.reached(mark)
    assert await ledger.transact(add(3)) == 1
    assert stored(path) == [1, 3]


async def test_work_on_a_locked_database_fails_alone(ledger: SqliteLedger, path: Path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="locked"):
            await ledger.transact(add(1))
        other.execute("ROLLBACK")
    assert await ledger.transact(add(2)) == 1
    assert stored(path) == [2]


async def test_a_queue_that_would_grow_without_end_refuses(
    ledger: SqliteLedger, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app.db.ledger, "MAX_PENDING_ROWS", 5)
    commits = Commits(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(5):
            ledger.append(ADD, (number, "x"))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StorageUnavailable):
                await ledger.durable()
        with pytest.raises(StorageUnavailable):
            ledger.append(ADD, (5, "x"))
        other.execute("ROLLBACK")
    await commits.reached(5)
    assert stored(path) == [0, 1, 2, 3, 4]


WRITER = """
import asyncio, sys
from pathlib import Path
from app.db.ledger import SqliteLedger
from tests.db.notes import ADD

async def main(path, first):
    ledger = SqliteLedger(Path(path))
    await ledger.start()
    number = first
    while True:
        for _ in range(number % 7 + 1):
            ledger.append(ADD, (number, "x" * (number % 2000)))
            number += 1
        await ledger.durable()
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
        ledger = SqliteLedger(path)
        await ledger.start()
        await ledger.transact(add(2))
        await ledger.close()
    assert stored(path) == [1, 2]
