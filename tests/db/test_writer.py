"""The writer: order, groups, and what one bad row may not do to the others."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import NotFound, StorageUnavailable
from app.db.writer import RELEASED_AT_ONCE, SqliteWriter, Transaction
from tests.db.notes import ADD, ADD_LINE, ADD_SURELY, Commits, add, stored
from tests.support.database import new_database


async def test_rows_appended_together_form_one_commit(db: SqliteWriter, path: Path):
    commits = Commits(db)
    marks = [db.append(ADD, (number, "x")) for number in range(100)]
    await db.flush()
    assert marks == list(range(1, 101))
    assert commits.marks == [100]
    assert stored(path) == list(range(100))


async def test_rows_that_come_during_a_commit_form_the_next_one_without_being_asked(
    db: SqliteWriter, path: Path
):
    commits = Commits(db)
    for number in range(50):
        db.append(ADD, (number, "x"))
        await asyncio.sleep(0)
    await commits.reached(50)
    assert stored(path) == list(range(50))
    assert len(commits.marks) < 50


async def test_a_crowd_that_waits_for_one_commit_goes_on_a_few_at_a_time_in_its_order(
    db: SqliteWriter,
):
    commits, gone_on, room = Commits(db), [], []

    async def wait(number: int) -> None:
        db.append(ADD, (number, "x"))
        await db.flush()
        gone_on.append(number)

    crowd = [asyncio.create_task(wait(number)) for number in range(100)]
    while len(gone_on) < len(crowd):
        await asyncio.sleep(0)
        room.append(len(gone_on))
    await asyncio.gather(*crowd)
    assert commits.marks == [100]
    assert gone_on == list(range(100))
    steps = [after - before for before, after in pairwise(room)]
    assert max(steps) <= RELEASED_AT_ONCE


async def test_a_failing_commit_takes_nobody_with_it_whose_rows_are_on_disk(
    db: SqliteWriter, path: Path
):
    """Those who still wait for their turn to go on when the next commit fails."""
    db.append(ADD, (0, "x"))
    waiting = [asyncio.create_task(db.flush()) for _ in range(10 * RELEASED_AT_ONCE)]
    await waiting[0]
    assert not waiting[-1].done()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        db.append(ADD, (1, "x"))
        with pytest.raises(StorageUnavailable):
            await db.flush()
    assert await asyncio.gather(*waiting) == [None] * len(waiting)


async def test_a_batch_is_written_in_the_order_of_its_statements(db: SqliteWriter, path: Path):
    db.append(ADD_LINE, (7, "a line of a note that comes later"))
    db.append(ADD, (7, "x"))
    await db.flush()
    assert stored(path, "SELECT note FROM lines") == [7]


async def test_work_sees_everything_that_was_appended_before_it(db: SqliteWriter):
    db.append(ADD, (1, "x"))

    def count(transaction: Transaction) -> Any:
        return transaction.fetch("SELECT count(*) FROM notes")[0][0]

    assert await db.transact(count) == 1


async def test_work_that_raises_leaves_nothing_and_its_error_comes_back(
    db: SqliteWriter, path: Path
):
    def half(transaction: Transaction) -> None:
        transaction.execute(ADD.sql, (1, "x"))
        raise NotFound("no")

    with pytest.raises(NotFound):
        await db.transact(half)
    assert stored(path) == []
    assert await db.transact(add(2)) == 1
    assert stored(path) == [2]


@pytest.mark.parametrize("error", [SystemExit(1), RuntimeError("x")], ids=repr)
async def test_work_cannot_end_the_writer(db: SqliteWriter, error: BaseException):
    def broken(_: Transaction) -> None:
        raise error

    with pytest.raises(type(error)):
        await db.transact(broken)
    assert await db.transact(add(1)) == 1


REFUSED: list[tuple[Any, ...]] = [
    (1, "a key that is taken"),
    (2, None),
    (3, "lone \ud800 surrogate"),
    (2**70, "too large"),
    (4, object()),
    (5,),
]


@pytest.mark.parametrize("bad", REFUSED, ids=range(len(REFUSED)))
async def test_one_row_that_does_not_fit_is_logged_and_the_others_are_kept(
    db: SqliteWriter, path: Path, caplog: pytest.LogCaptureFixture, bad: tuple[Any, ...]
):
    with caplog.at_level(logging.ERROR):
        db.append(ADD, (1, "x"))
        db.append(ADD, bad)
        db.append(ADD, (9, "x"))
        db.append(ADD_LINE, (9, "x"))
        db.append(ADD_LINE, (8, "of no note"))
        await db.flush()
    assert stored(path) == [1, 9]
    assert stored(path, "SELECT note FROM lines") == [9]
    assert [record.message for record in caplog.records] == ["row refused by the database"] * 2
    db.append(ADD, (10, "x"))
    await db.flush()
    assert stored(path) == [1, 9, 10]


async def test_a_bad_row_among_many_takes_no_other_with_it(db: SqliteWriter, path: Path):
    for number in range(300):
        db.append(ADD, (number, None if number == 100 else f"body {number}"))
    await db.flush()
    assert stored(path) == [number for number in range(300) if number != 100]
    assert stored(path, "SELECT body FROM notes WHERE id = 299") == ["body 299"]


async def test_a_barrier_is_flushed_to_the_disk(db: SqliteWriter):
    def level(transaction: Transaction) -> Any:
        return transaction.fetch("PRAGMA synchronous")[0][0]

    db.append(ADD_SURELY, (1, "x"))
    await db.flush()
    assert await db.transact(level) == 2


async def test_closing_writes_what_waits_and_afterwards_nothing_hangs(path: Path):
    db = SqliteWriter(path)
    await db.start()
    db.append(ADD, (1, "x"))
    await db.close()
    await db.close()
    assert stored(path) == [1]
    db.append(ADD, (2, "x"))
    with pytest.raises(StorageUnavailable):
        await db.flush()
    with pytest.raises(StorageUnavailable):
        await db.transact(add(3))


async def test_a_file_that_cannot_be_opened_is_a_typed_error(tmp_path: Path):
    db = SqliteWriter(tmp_path / "missing" / "x.db")
    with pytest.raises(StorageUnavailable, match="data directory exists and is writable"):
        await db.start()
    (tmp_path / "text.db").write_text("not a database at all", encoding="utf-8")
    with pytest.raises(StorageUnavailable):
        await SqliteWriter(tmp_path / "text.db").start()


def test_a_new_database_is_nobody_else_s_to_read(tmp_path: Path):
    (tmp_path / "open").mkdir(mode=0o755)
    path = tmp_path / "open" / "tollgate.db"
    new_database(path)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_listener_that_fails_holds_up_nobody_s_rows(db: SqliteWriter, path: Path):
    def fail(_: int) -> None:
        db.append(ADD, (2, "appended meanwhile"))
        raise RuntimeError("a listener is broken")

    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    db.subscribe(fail)
    db.append(ADD, (1, "x"))
    await db.flush()
    db._listeners.clear()
    await db.flush()
    assert stored(path) == [1, 2]
    assert [str(context["exception"]) for context in reported] == ["a listener is broken"]
