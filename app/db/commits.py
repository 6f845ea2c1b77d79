"""Commits on one connection: one transaction each, with classified failures."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from time import monotonic
from time import sleep as wait
from typing import Any

from app.core.errors import StorageUnavailable
from app.db.file_identity import DatabaseLost
from app.db.folded_rows import fold
from app.db.statements import Statement

Row = Sequence[Any]
log = logging.getLogger(__name__)

SWITCH_S = 0.01

# Errors that are permanent for one row: a broken constraint, a value that SQLite cannot store
# (wrong type, too large, lone surrogates, integers beyond 64 bits).
REFUSED = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    UnicodeEncodeError,
    OverflowError,
)


@dataclass(slots=True)
class SqliteTransaction:
    """`Transaction` over sqlite3."""

    raw: sqlite3.Connection
    full: bool = field(default=False)

    def execute(self, sql: str, row: Row = ()) -> int:
        return self.raw.execute(sql, row).rowcount

    def fetch(self, sql: str, row: Row = ()) -> list[tuple[Any, ...]]:
        return self.raw.execute(sql, row).fetchall()

    def checkpoint(self) -> None:
        """Move the journal's content to the file, as far as no reader prevents it."""
        with suppress(sqlite3.Error):
            self.raw.execute("PRAGMA wal_checkpoint(PASSIVE)")


@contextmanager
def transaction(connection: SqliteTransaction, *, full: bool) -> Iterator[None]:
    """Run one transaction; an error never leaves it open."""
    raw = connection.raw
    if full != connection.full:
        raw.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        connection.full = full
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield
        raw.execute("COMMIT")
    except BaseException:
        # SQLite has already rolled back after some errors, a full disk among them.
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def commit_rows(
    connection: SqliteTransaction,
    rows: dict[Statement, list[Row]],
    put: Callable[[sqlite3.Connection, Statement, list[Row]], None],
) -> None:
    """Write all `rows` in one transaction, statement by statement in their fixed order."""
    with transaction(connection, full=any(statement.barrier for statement in rows)):
        for statement in sorted(rows, key=attrgetter("order")):
            ready = rows[statement]
            if statement.prepare is not None:
                ready = statement.prepare(connection.fetch, ready)
            put(connection.raw, statement, ready)


def commit_batch(connection: SqliteTransaction, rows: dict[Statement, list[Row]]) -> None:
    """Write all `rows` in one transaction; without those that the database refuses, if any."""
    try:
        commit_rows(connection, fold(rows), put_all)
    except REFUSED:
        commit_rows(connection, rows, put_each)


def write_ahead(raw: sqlite3.Connection, patience_s: float) -> None:
    """Switch a database to its write-ahead log.

    While another process writes without one, SQLite refuses this immediately, ignoring its timeout.

    Raises:
        sqlite3.OperationalError: it stays locked for longer.
    """
    end = monotonic() + patience_s
    while True:
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > end:
                raise
            wait(SWITCH_S)
        else:
            return


def put_all(raw: sqlite3.Connection, statement: Statement, rows: list[Row]) -> None:
    done = 0
    for count, sql in statement.many:
        while len(rows) - done >= count:
            values: list[Any] = []
            for row in rows[done : done + count]:
                values += row
            raw.execute(sql, values)
            done += count
    if done < len(rows):
        raw.executemany(statement.sql, rows[done:])


def put_each(raw: sqlite3.Connection, statement: Statement, rows: list[Row]) -> None:
    """Write each valid row: one refused row must not block the others."""
    for row in rows:
        try:
            raw.execute(statement.sql, row)
        except REFUSED:
            log.exception("row refused by the database", extra={"sql": statement.sql})


def bind_plainly() -> None:
    """Register identity adapters for these types, which saves 0.2 µs per value.

    sqlite3 binds text, integers and floats directly; for other types it searches an adapter through
    an `AttributeError`. These return their argument, in the whole process.
    """
    sqlite3.register_adapter(type(None), lambda null: null)
    sqlite3.register_adapter(bytes, bytes)
    sqlite3.register_adapter(bool, int)


def lost(error: DatabaseLost, path: Path, rescued: Path | None) -> StorageUnavailable:
    """Return the error for a replaced database file: what happened and what to do."""
    kept = f" Committed data is in {rescued.name}." if rescued else ""
    return StorageUnavailable(
        f"Writing has stopped: {error} while the service runs.{kept} Stop the service, "
        "restore the correct file, and start the service again",
        database=path.name,
    )


def unavailable(error: BaseException, path: Path) -> StorageUnavailable:
    """Convert the database's error: what happened and what to do."""
    text = str(error)
    if "full" in text:
        fix = "free disk space; no data is lost, and writing resumes automatically"
    elif "locked" in text or "busy" in text:
        fix = "another process has locked the database; writing resumes when it releases the lock"
    elif "malformed" in text or "not a database" in text:
        fix = "stop the service and restore the database from a backup"
    else:
        fix = "check that the data directory exists and is writable"
    return StorageUnavailable(f"Database is not writable ({text}): {fix}", database=path.name)
