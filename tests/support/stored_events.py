"""Events stored in a database, one by one, regardless of shared rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from app.db.event_rows import COLUMNS, Stored, one, unpack

_EVERY = 2**40
_ROWS = f"SELECT {COLUMNS} FROM events ORDER BY position"
_MARKS = ", ".join("?" for _ in COLUMNS.split(","))


def stored_events(database: sqlite3.Connection, session_id: str | None = None) -> list[Stored]:
    """Return all events, or those of a session, in the order of their rows."""
    return [
        event
        for row in database.execute(_ROWS)
        if session_id is None or row[0] == session_id
        for event in unpack([(row[2], row[4], row[6])], after=0, upto=_EVERY, most=_EVERY)
    ]


def forget(database: sqlite3.Connection, is_gone: Callable[[Stored], bool]) -> None:
    """Remove events as if never written. Only before a block covers any."""
    assert database.execute("SELECT count(*) FROM event_blocks").fetchone() == (0,)
    rows = database.execute(_ROWS).fetchall()
    database.execute("DELETE FROM events")
    for session_id, epoch, first, _, types, ts, body in rows:
        for event in unpack([(first, types, body)], after=0, upto=_EVERY, most=_EVERY):
            if not is_gone(event):
                row = one(session_id, epoch, event.seq, event.type, ts, event.body)
                database.execute(f"INSERT INTO events ({COLUMNS}) VALUES ({_MARKS})", row)
