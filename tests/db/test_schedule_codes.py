"""What schedules said before there were codes for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from app.db.schema import downgrade, upgrade

SENTENCES = {
    "paused": "schedule_paused",
    "paused by an administrator": "schedule_held",
    "expired": "schedule_expired",
    "": None,
    "No agent 'x'. No agent has been made yet": None,
}
REASONS = {
    "The run before has not ended": "run_not_ended",
    "7 times passed while the service stood still": "times_missed",
    "": None,
    "No project 'x'": None,
}


def test_what_the_service_had_said_itself_gets_its_code_and_the_rest_stays(tmp_path: Path):
    path = tmp_path / "tollgate.db"
    upgrade(path)
    downgrade(path, "0016")
    with closing(sqlite3.connect(path)) as connection:
        for number, paused in enumerate(SENTENCES):
            _add(connection, "schedules", {"id": str(number), "paused": paused})
        for number, reason in enumerate(REASONS):
            slot = {"id": str(number), "scheduled_at": str(number), "reason": reason}
            _add(connection, "schedule_slots", slot)
        connection.commit()

    upgrade(path)

    with closing(sqlite3.connect(path)) as connection:
        schedules = connection.execute("SELECT paused, paused_code FROM schedules").fetchall()
        slots = connection.execute("SELECT reason, reason_code FROM schedule_slots").fetchall()
    assert sorted(schedules) == sorted(SENTENCES.items())
    assert sorted(slots) == sorted(REASONS.items())


def _add(connection: sqlite3.Connection, table: str, values: dict[str, str]) -> None:
    """A row whose other fields that must be there are anything."""
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    row = {name: "1" for _, name, _, is_needed, *_ in columns if is_needed} | values
    marks = ", ".join("?" for _ in row)
    sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    connection.execute(sql, tuple(row.values()))
