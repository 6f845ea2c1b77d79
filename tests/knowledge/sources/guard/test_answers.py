"""Every allowed statement on a real database: it runs, shows nothing that is masked, and answers
what was asked.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import asyncmy
import psycopg
import pytest

from app.knowledge.sources.guard.check import check
from app.knowledge.sources.guard.model import SESSION_SETUP, Dialect
from tests.knowledge.sources.guard.shop import MARK, access, script, sqlite_script
from tests.knowledge.sources.guard.verdicts import ALLOWED, Verdict
from tests.support.sql_servers import SqlServer

DATABASE = "store"
Rows = Sequence[Any]
_CHANGES = re.compile(r"now|rand|current_|curdate|curtime|utc_|localtime", re.IGNORECASE)


def of(dialect: Dialect) -> list[Verdict]:
    return [one for one in ALLOWED if one.dialect == dialect]


def allowed(dialect: Dialect) -> list[str]:
    return [one.runs for one in of(dialect) if one.runs is not None]


def check_answers(
    dialect: Dialect, sent: Sequence[Rows | None], written: Sequence[Rows | None]
) -> None:
    """What the guard wrote shows nothing masked, and answers like what was sent.

    What was sent may show masked columns, or fail for its spelling (None); chance and the clock
    answer differently each time.
    """
    differing, compared = [], 0
    for case, before, after in zip(of(dialect), sent, written, strict=True):
        assert after is not None, case.sql
        assert MARK not in repr(after), case.sql
        if before is not None and MARK not in repr(before) and not _CHANGES.search(case.sql):
            compared += 1
            if sorted(map(repr, before)) != sorted(map(repr, after)):
                differing.append(case.sql)
    assert differing == []
    assert compared > len(of(dialect)) * 0.7


@pytest.mark.requirement("SQL-04", "SQL-06", "SQL-11", "D-30")
async def test_on_mariadb_every_allowed_statement_runs_and_shows_nothing_masked(
    mariadb_server: SqlServer,
):
    mariadb_server.ask(f"CREATE OR REPLACE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    mariadb_server.ask(";\n".join(script("mysql")), database=DATABASE)
    connection = await asyncmy.connect(
        unix_socket=mariadb_server.socket_path, user="root", database=DATABASE
    )
    try:
        async with connection.cursor() as cursor:

            async def answer(sql: str) -> Rows | None:
                try:
                    await cursor.execute(sql.rstrip("; "))
                except asyncmy.errors.MySQLError:
                    return None
                rows: Rows = await cursor.fetchall()
                return rows

            for statement in SESSION_SETUP["mysql"]:
                await cursor.execute(statement)
            written = [await answer(sql) for sql in allowed("mysql")]
            sent = [await answer(one.sql) for one in of("mysql")]
            check_answers("mysql", sent, written)
            assert MARK in repr(await answer("SELECT email FROM users"))
    finally:
        connection.close()


@pytest.mark.requirement("SQL-04", "SQL-06", "SQL-11", "D-30")
def test_on_postgresql_every_allowed_statement_runs_and_shows_nothing_masked(
    postgres_server: SqlServer,
):
    postgres_server.ask(f"DROP DATABASE IF EXISTS {DATABASE}", database="postgres")
    postgres_server.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
    postgres_server.ask(";\n".join(script("postgres")), database=DATABASE)
    with psycopg.connect(
        host=postgres_server.socket_path,
        port=postgres_server.port,
        user="postgres",
        dbname=DATABASE,
        autocommit=True,
    ) as connection:

        def answer(sql: str) -> Rows | None:
            try:
                return connection.execute(sql.encode()).fetchall()
            except psycopg.Error:
                return None

        for statement in SESSION_SETUP["postgres"]:
            connection.execute(statement.encode())
        written = [answer(sql) for sql in allowed("postgres")]
        connection.execute("SET search_path = pg_catalog, public")
        sent = [answer(one.sql) for one in of("postgres")]
        check_answers("postgres", sent, written)
        assert MARK in repr(answer("SELECT email FROM public.users"))


@pytest.mark.requirement("SQL-04", "SQL-06", "SQL-11", "D-30")
def test_on_sqlite_every_allowed_statement_runs_and_shows_nothing_masked():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sqlite_script())

        def answer(sql: str) -> Rows | None:
            try:
                return connection.execute(sql).fetchall()
            except sqlite3.Error:
                return None

        written = [answer(sql) for sql in allowed("sqlite")]
        sent = [answer(one.sql) for one in of("sqlite")]
        check_answers("sqlite", sent, written)
        assert MARK in repr(answer("SELECT email FROM users"))


@pytest.mark.requirement("SQL-07")
def test_a_large_table_answers_with_one_row_more_than_the_limit_and_no_more():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sqlite_script())
        rows = ((number,) for number in range(10_000))
        connection.executemany("INSERT INTO orders (id) VALUES (?)", rows)
        guarded = check("SELECT * FROM orders", access("sqlite"), 100)
        assert len(connection.execute(guarded.sql).fetchall()) == 101
