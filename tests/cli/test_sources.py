"""`tollgate sources`: a database of one file, from stored to forgotten, by its words alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.program import on_terminal, tollgate
from tests.support.database import new_database

PASSWORD = "not-for-anybody-5Zq"


class Place:
    """An installation, and a SQLite file that it may open."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        new_database(self.data / "tollgate.db")
        with closing(sqlite3.connect(self.data / "tollgate.db")) as connection, connection:
            connection.execute(
                "INSERT INTO agents (id, profile, version, created_at, updated_at)"
                """ VALUES ('support', '{"id": "support"}', 1, '2026', '2026')"""
            )
        self.file = folder / "files" / "shop.db"
        self.file.parent.mkdir()
        with closing(sqlite3.connect(self.file)) as connection:
            connection.executescript(
                "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT);"
                "CREATE TABLE wages (id INTEGER);"
            )

    def run(self, *words: str, stdin: str | None = None) -> CompletedProcess[str]:
        folders = {"TOLLGATE_SOURCES__SQLITE_FOLDERS": str(self.file.parent)}
        return tollgate(self.data, "sources", *words, stdin=stdin, **folders)

    def listed(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.run("list", "--json").stdout)["sources"]
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.requirement("SQL-10")
def test_a_source_is_stored_looked_into_opened_tested_and_forgotten(place: Place):
    assert place.run("list").stderr.startswith("No data sources.")
    made = place.run("add", "Shop", "--kind", "sqlite", "--file", str(place.file))
    source_id = made.stdout.strip()
    assert made.returncode == 0, made.stderr
    seen = place.run("tables", "Shop").stdout.splitlines()
    assert seen == ["-        main.customers  id, name, email", "-        main.wages  id"]

    opened = place.run(
        *("authorise", "Shop", "--agent", "support", "--agent", "*"),
        *("--table", "main.customers:email", "--table", "main.wages"),
    )
    assert opened.stdout.splitlines() == [
        "Shop can be read by support, *",
        "  main.customers  masked: email",
        "  main.wages",
    ]
    narrowed = place.run(
        *("authorise", source_id, "--no-agent", "*", "--no-table", "main.wages"),
        *("--table", "main.customers:NAME"),
    )
    assert narrowed.stdout.splitlines() == [
        "Shop can be read by support",
        "  main.customers  masked: email, NAME",
    ]
    shown = place.run("authorise", "Shop", "--unmask", "main.customers:name")
    assert shown.stdout.splitlines()[1:] == ["  main.customers  masked: email"]
    tables = json.loads(place.run("tables", "Shop", "--json").stdout)["tables"]
    assert [table["allowed"] for table in tables] == [True, False]
    assert [column["masked"] for column in tables[0]["columns"]] == [False, False, True]

    tested = place.run("test", "Shop")
    assert (tested.returncode, tested.stdout.split(":")[0]) == (0, "ok")
    assert place.run("remove", "Shop").stderr.endswith("would be deleted; use --yes to delete\n")
    assert len(place.listed()) == 1
    assert place.run("remove", source_id, "--yes").returncode == 0
    assert place.listed() == []


@pytest.mark.requirement("SQL-10")
def test_a_password_comes_from_standard_input_or_a_file_and_is_never_shown(place: Place):
    secret = place.data.parent / "secret"
    secret.write_text(PASSWORD + "\n", encoding="utf-8")
    server = ("--kind", "mysql", "--host", "127.0.0.1", "--port", "1", "--database", "shop")
    said = []
    for name, where, stdin in (("One", "-", PASSWORD + "\n"), ("Two", str(secret), None)):
        words = ("add", name, *server, "--user", "reader", "--password-file", where)
        said.append(place.run(*words, stdin=stdin))
        assert said[-1].returncode == 0, said[-1].stderr
    assert [item["password_set"] for item in place.listed()] == [True, True]
    said += [place.run("list"), place.run("list", "--json"), place.run("test", "One")]
    assert said[-1].returncode == 1
    assert said[-1].stderr.startswith("error: ")
    assert PASSWORD not in "".join(done.stdout + done.stderr for done in said)
    stored = (place.data / "tollgate.db").read_bytes()
    assert PASSWORD.encode() not in stored


REFUSED = (
    (("add", "X", "--kind", "oracle"), 2, "Invalid --kind 'oracle': must be one of"),
    (("add", "X", "--kind", "mysql"), 2, "host"),
    (("add", "X", "--kind", "mysql", "--password-file", "-"), 2, "must hold one line"),
    (("authorise", "Shop"), 2, "Nothing to change"),
    (("authorise", "Shop", "--table", "customers"), 2, "use SCHEMA.TABLE"),
    (("authorise", "Shop", "--no-table", "main.other"), 2, "is not listed"),
    (
        ("authorise", "Shop", "--unmask", "main.customers:id"),
        2,
        "masked columns of main.customers: email",
    ),
    (("authorise", "Shop", "--no-agent", "who"), 2, "this agent has no access"),
    (
        ("authorise", "Shop", "--agent", "who"),
        2,
        "agent 'who' does not exist; existing ones are 'default'",
    ),
    (("test", "Gone"), 1, "Data source 'Gone' not found"),
)


def test_what_is_not_meant_changes_nothing_and_is_reported(place: Place):
    place.run("add", "Shop", "--kind", "sqlite", "--file", str(place.file))
    place.run("authorise", "Shop", "--table", "main.customers:email")
    before = place.listed()
    for words, code, reported in REFUSED:
        refused = place.run(*words)
        assert (refused.returncode, refused.stdout) == (code, ""), words
        assert reported in refused.stderr
    assert place.listed() == before


async def test_a_password_that_is_typed_is_not_shown(place: Place):
    words = (
        "add",
        "Shop",
        "--kind",
        "mysql",
        "--host",
        "127.0.0.1",
        "--user",
        "ann",
        "--database",
        "shop",
    )
    async with on_terminal(place.data, ["sources", *words, "--password-file", "-"]) as terminal:
        await terminal.expect("Password: ")
        terminal.type("geheim\n")
        await terminal.expect("Stored in")
        assert await terminal.ended() == 0
    assert "geheim" not in terminal.shown
