"""Every allowed statement on a real database: it runs, and shows nothing that is masked."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import asyncmy
import psycopg
import pytest

from app.knowledge.sources.guard.checking import check
from app.knowledge.sources.guard.model import SESSION_SETUP, Dialect
from tests.knowledge.sources.guard.shop import MARK, access, script, sqlite_script
from tests.knowledge.sources.guard.verdicts import ALLOWED
from tests.support.sql_servers import SqlServer

DATABASE = "store"


def allowed(dialect: Dialect) -> list[str]:
    return [one.runs for one in ALLOWED if one.dialect == dialect and one.runs is not None]


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
            for statement in SESSION_SETUP["mysql"]:
                await cursor.execute(statement)
            for sql in allowed("mysql"):
                await cursor.execute(sql)
                assert MARK not in repr(await cursor.fetchall()), sql
            await cursor.execute("SELECT email FROM users")
            assert MARK in repr(await cursor.fetchall())
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
        for statement in SESSION_SETUP["postgres"]:
            connection.execute(statement.encode())
        for sql in allowed("postgres"):
            assert MARK not in repr(connection.execute(sql.encode()).fetchall()), sql
        seen = connection.execute("SELECT email FROM public.users").fetchall()
        assert MARK in repr(seen)


@pytest.mark.requirement("SQL-04", "SQL-06", "SQL-11", "D-30")
def test_on_sqlite_every_allowed_statement_runs_and_shows_nothing_masked():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sqlite_script())
        for sql in allowed("sqlite"):
            assert MARK not in repr(connection.execute(sql).fetchall()), sql
        assert MARK in repr(connection.execute("SELECT email FROM users").fetchall())


@pytest.mark.requirement("SQL-07")
def test_a_large_table_answers_with_one_row_more_than_the_limit_and_no_more():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sqlite_script())
        rows = ((number,) for number in range(10_000))
        connection.executemany("INSERT INTO orders (id) VALUES (?)", rows)
        guarded = check("SELECT * FROM orders", access("sqlite"), 100)
        assert len(connection.execute(guarded.sql).fetchall()) == 101
