"""What a kill leaves: the database as it stands after each commit, one file for each."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.agents.delegation.events import run_status
from app.config.settings import Settings
from app.db import commits, writer
from tests.support.stored_events import stored_events

Event = dict[str, Any]
_ENDS = "SELECT t.id, t.status, r.status FROM delegated_tasks t LEFT JOIN runs r ON r.id = t.run_id"


@contextmanager
def states_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Copies of the database, in order; a process killed at any moment has left one of them."""
    folder.mkdir()
    states: list[Path] = []
    real = commits.transaction

    @contextmanager
    def kept(connection: Any, *, full: bool) -> Iterator[None]:
        with real(connection, full=full):
            yield
        copy = folder / f"{len(states)}.db"
        with closing(sqlite3.connect(copy)) as target:
            connection.raw.backup(target)
        states.append(copy)

    with monkeypatch.context() as patched:
        for module in (writer, commits):
            patched.setattr(module, "transaction", kept)
        yield states


def as_left(state: Path, settings: Settings, folder: Path) -> Settings:
    """Settings of a service on a state, whose process is gone."""
    left = settings.model_copy(update={"data_dir": folder})
    folder.mkdir()
    shutil.copy(state, left.database_path)
    with closing(sqlite3.connect(left.database_path)) as database, database:
        for table in ("runs", "delegation_batches"):
            database.execute(f"UPDATE {table} SET owner = '1-gone' WHERE owner <> ''")
    return left


def rows_of(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    """What a service that is closed has stored."""
    with closing(sqlite3.connect(settings.database_path)) as database:
        return database.execute(query).fetchall()


def changed(settings: Settings, statement: str) -> None:
    """Bring the database of a service that is gone into a state that may be found."""
    with closing(sqlite3.connect(settings.database_path)) as database, database:
        database.execute(statement)


def events_of(settings: Settings) -> list[Event]:
    with closing(sqlite3.connect(settings.database_path)) as database:
        return [orjson.loads(event.body) for event in stored_events(database)]


def wrong(settings: Settings) -> list[str]:
    """What must not be once everything is over."""
    events = events_of(settings)
    seqs: dict[str, list[int]] = {}
    for event in events:
        seqs.setdefault(event["session_id"], []).append(event["seq"])
    found = [
        f"the log has a gap: {numbers}"
        for numbers in seqs.values()
        if numbers != list(range(1, len(numbers) + 1))
    ]
    started = Counter(e["task_id"] for e in events if e["type"] == "subagent_started")
    ended = Counter(e["task_id"] for e in events if e["type"] == "subagent_finished")
    if started != ended or set(started.values()) - {1}:
        found.append(f"starts and ends are no pairs: {started} {ended}")
    reported = {e["task_id"]: e["status"] for e in events if e["type"] == "subagent_finished"}
    for id_, status, of_run in rows_of(settings, _ENDS):
        if status in ("waiting", "running") or of_run == "running":
            found.append(f"{id_} is {status}, its run {of_run}")
        if reported.get(id_, run_status(status)) != run_status(status):
            found.append(f"{id_} is {status}, and was reported as {reported[id_]}")
    batches = rows_of(settings, "SELECT id, status FROM delegation_batches")
    found += [f"{id_} is {status}" for id_, status in batches if status == "running"]
    return found
