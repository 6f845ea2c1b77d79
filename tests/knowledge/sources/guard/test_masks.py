"""Masked columns under random statements, and answers of a real database."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.knowledge.sources.guard.check import check
from app.knowledge.sources.guard.model import SqlRefused
from tests.knowledge.sources.guard.shop import MARK, access, sqlite_script
from tests.knowledge.sources.guard.statements import harmless, prying, words

SHOP = access("sqlite")
FEW = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(sqlite_script())
    yield connection
    connection.close()


@pytest.mark.requirement("SQL-06", "D-30")
@FEW
@given(sql=prying)
def test_a_masked_column_anywhere_is_refused(sql: str):
    with pytest.raises(SqlRefused) as refusal:
        check(sql, SHOP, 50)
    # A name that another table has too is refused before it is known to be the masked one.
    assert refusal.value.details["code"] in ("masked_column", "ambiguous_column")


@pytest.mark.requirement("SQL-06")
@FEW
@given(sql=harmless)
def test_the_same_statements_without_one_run_and_show_nothing_masked(
    database: sqlite3.Connection, sql: str
):
    guarded = check(sql, SHOP, 50)
    assert check(guarded.sql, SHOP, 50).sql == guarded.sql
    assert MARK not in repr(database.execute(guarded.sql).fetchall())


@FEW
@given(sql=st.one_of(words, st.text(max_size=60).map("SELECT ".__add__)))
def test_whatever_is_sent_is_refused_properly_or_shows_nothing_masked(
    database: sqlite3.Connection, sql: str
):
    try:
        guarded = check(sql, SHOP, 50)
    except SqlRefused:
        return
    assert check(guarded.sql, SHOP, 50).sql == guarded.sql
    try:
        rows = database.execute(guarded.sql).fetchall()
    except sqlite3.OperationalError:
        return  # the guard does not check types or how a function is called
    assert MARK not in repr(rows)


def test_the_marks_are_there_to_be_found(database: sqlite3.Connection):
    for sql in ("SELECT email FROM users", "SELECT value FROM secrets"):
        assert MARK in repr(database.execute(sql).fetchall())
