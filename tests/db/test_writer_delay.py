"""What the writer delays, for those only who do not wait for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.db import writer as writers
from app.db.writer import BUSY_ROWS, GATHER_TURNS, LINGER_ROWS, SqliteWriter
from tests.db.notes import ADD, Commits, add, stored

FOR_EVER = 3600.0


@pytest.fixture
async def busy(db: SqliteWriter, monkeypatch: pytest.MonkeyPatch) -> SqliteWriter:
    """A database writer that has just committed many rows and would linger for ever."""
    monkeypatch.setattr(writers, "LINGER_S", FOR_EVER)
    for number in range(BUSY_ROWS):
        db.append(ADD, (number, "x"))
    await db.flush()
    return db


async def turns(count: int = 50) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_nobody_waits_for_is_gathered(busy: SqliteWriter, path: Path):
    commits = Commits(busy)
    for number in range(100, 110):
        busy.append(ADD, (number, "x"))
        await turns(2)
    assert stored(path) == list(range(BUSY_ROWS))
    await busy.flush()
    assert commits.marks == [BUSY_ROWS + 10]


async def test_it_ends_by_itself(db: SqliteWriter, path: Path):
    for number in range(BUSY_ROWS):
        db.append(ADD, (number, "x"))
    await db.flush()
    commits = Commits(db)
    db.append(ADD, (100, "x"))
    await commits.reached(BUSY_ROWS + 1)
    assert stored(path)[-1] == 100


async def test_who_waits_is_not_kept_waiting(busy: SqliteWriter, path: Path):
    busy.append(ADD, (100, "x"))
    await turns()
    await busy.flush()
    assert stored(path)[-1] == 100


async def test_work_comes_after_it_and_at_once(busy: SqliteWriter, path: Path):
    busy.append(ADD, (100, "x"))
    await turns()
    assert await busy.transact(add(101)) == 1
    assert stored(path)[-2:] == [100, 101]


async def test_what_has_become_many_rows_goes(busy: SqliteWriter):
    commits = Commits(busy)
    for number in range(LINGER_ROWS):
        busy.append(ADD, (100 + number, "x"))
    await commits.reached(BUSY_ROWS + LINGER_ROWS)


async def test_after_a_commit_of_few_rows_nothing_lingers(busy: SqliteWriter):
    busy.append(ADD, (100, "x"))
    await busy.flush()
    commits = Commits(busy)
    busy.append(ADD, (101, "x"))
    await commits.reached(BUSY_ROWS + 2)


async def test_what_lingers_is_committed_at_the_end(busy: SqliteWriter, path: Path):
    busy.append(ADD, (100, "x"))
    await turns()
    await busy.close()
    assert stored(path)[-1] == 100


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let turns of the loop take any time."""
    monkeypatch.setattr(writers, "GATHER_S", FOR_EVER)


@pytest.mark.usefixtures("patient")
async def test_an_idle_writer_gathers_the_rows_of_a_few_turns(db: SqliteWriter, path: Path):
    commits = Commits(db)
    for number in range(GATHER_TURNS):
        db.append(ADD, (number, "x"))
        await asyncio.sleep(0)
    await commits.reached(GATHER_TURNS)
    assert commits.marks == [GATHER_TURNS]
    assert stored(path) == list(range(GATHER_TURNS))


@pytest.mark.usefixtures("patient")
async def test_who_waits_ends_the_gathering(db: SqliteWriter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers, "GATHER_TURNS", 10**9)
    commits = Commits(db)
    db.append(ADD, (1, "x"))
    await turns(GATHER_TURNS)
    assert not commits.marks
    await db.flush()
    assert commits.marks == [1]


async def test_long_turns_end_the_gathering(db: SqliteWriter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers, "GATHER_TURNS", 10**9)
    commits = Commits(db)
    db.append(ADD, (1, "x"))
    await commits.reached(1)
