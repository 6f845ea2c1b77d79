"""The migrations: up, down, and equal to the models; and every statement fits what they make."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from app.core.errors import StorageUnavailable
from app.db.event_rows import COLUMNS, pack
from app.db.schema import (
    HEAD,
    NEW_DATABASE,
    alembic_config,
    create,
    current_revision,
    downgrade,
    ensure_schema,
    upgrade,
)
from app.db.statements import ADD_EVENT, ALL, CHUNKS, Statement
from scripts.write_schema import schema_of
from tests.support.source import ROOT
from tests.support.stored_events import stored_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tollgate.db"


def revisions(path: Path) -> list[str]:
    """The oldest first."""
    folder = ScriptDirectory.from_config(alembic_config(path))
    return [script.revision for script in folder.walk_revisions()][::-1]


def shape(path: Path) -> dict[str, str]:
    """The statement that made each table and index."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: re.sub(r"\s+", " ", sql) for name, sql in rows}


def test_the_newest_migration_is_the_one_that_the_service_asks_for(path: Path):
    folder = ScriptDirectory.from_config(alembic_config(path))
    assert folder.get_heads() == [HEAD]
    assert ensure_schema(path)
    assert current_revision(path) == HEAD
    assert not ensure_schema(path)


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What each table holds."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for name in shape(path)
            if not name.startswith("ix_")
        }


def test_a_new_database_is_what_the_migrations_make(path: Path, tmp_path: Path):
    migrated = tmp_path / "migrated.db"
    upgrade(migrated)
    assert create(path)
    hint = "run `python -m scripts.write_schema`"
    assert NEW_DATABASE.read_text(encoding="utf-8") == schema_of(migrated), hint
    assert shape(path) == shape(migrated)
    assert rows(path) == rows(migrated)


def test_of_two_that_start_together_one_creates_the_database(path: Path):
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(create, [path] * 8))
    assert Counter(made) == {True: 1, False: 7}
    assert current_revision(path) == HEAD


def test_a_database_that_holds_something_else_is_left_as_it_is(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (own TEXT)")
    before = shape(path)
    with pytest.raises(StorageUnavailable):
        ensure_schema(path)
    assert shape(path) == before


def test_every_migration_goes_up_and_down_again(path: Path):
    upgrade(path)
    names = revisions(path)
    for below, revision in reversed(list(pairwise(["base", *names]))):
        before = shape(path)
        downgrade(path, below)
        without = shape(path)
        assert without != before
        upgrade(path, revision)
        assert shape(path).keys() == before.keys()
        downgrade(path, below)
        assert shape(path).keys() == without.keys()
    assert shape(path).keys() == {"alembic_version"}


def alembic(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program, as a developer starts it in the tree."""
    return subprocess.run(
        [sys.executable, "-m", "alembic", *words],
        cwd=ROOT,
        env={**os.environ, "TOLLGATE_DATA_DIR": str(data)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_migrations_make_what_the_models_say(path: Path):
    upgrade(path)
    checked = alembic(path.parent, "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == "No new upgrade operations detected.\n"


def test_a_table_without_a_model_is_found_beside_the_full_text_index(path: Path):
    upgrade(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory_wordsmith (id INTEGER)")
    checked = alembic(path.parent, "check")
    assert checked.returncode != 0
    assert "'remove_table', Table('memory_wordsmith'" in checked.stdout + checked.stderr
    assert "memory_words'" not in checked.stdout + checked.stderr


@pytest.mark.requirement("CFG-02")
def test_the_program_migrates_up_and_down(path: Path):
    for words, revision in (
        ("upgrade head", HEAD),
        ("downgrade 0004", "0004"),
        ("upgrade +1", "0005"),
    ):
        done = alembic(path.parent, *words.split())
        assert (done.returncode, current_revision(path)) == (0, revision), done.stderr


@pytest.mark.parametrize("statement", ALL, ids=lambda statement: statement.sql[:40])
def test_every_statement_fits_the_schema(path: Path, statement: Statement):
    upgrade(path)
    with closing(sqlite3.connect(path)) as connection:
        for count, sql in ((1, statement.sql), *statement.many):
            values = (None,) * (statement.sql.count("?") * count)
            connection.execute(f"EXPLAIN {sql}", values)
    assert [count for count, _ in statement.many] in ([], list(CHUNKS))


def test_events_stay_what_they_are_on_the_way_up_and_down(path: Path):
    """A row of before holds one event; rows of several come apart and get blocks anew."""
    upgrade(path, "0017")
    before = [("ses_a", seq, f"kind_{seq % 3}", b'{"seq":%d}' % seq) for seq in range(1, 40)]
    with closing(sqlite3.connect(path)) as raw, raw:
        add = "INSERT INTO events (session_id, epoch, seq, type, ts, body)"
        add += " VALUES (?, 'ep', ?, ?, 't', ?)"
        raw.executemany(add, before)
    upgrade(path)
    with closing(sqlite3.connect(path)) as raw:
        assert [event[:] for event in stored_events(raw)] == [event[1:] for event in before]
        packed = pack(raw.execute(f"SELECT {COLUMNS} FROM events ORDER BY position").fetchall())
        assert len(packed) == 2
        raw.execute("DELETE FROM events")
        raw.executemany(ADD_EVENT.sql, packed)
        raw.commit()
    downgrade(path, "0017")
    with closing(sqlite3.connect(path)) as raw:
        rows = raw.execute("SELECT session_id, seq, type, body FROM events ORDER BY position")
        assert rows.fetchall() == before
        assert raw.execute("SELECT count(*) FROM event_blocks").fetchone() == (0,)
