"""Conversion of schedules and occurrences from and to rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from app.agents.schedules.reasons import ScheduleReason
from app.core import process
from app.core.clock import isoformat
from app.db.writer import Transaction
from app.domain.recurrence import Timing
from app.domain.schedules import Occurrence, Schedule

COLUMNS = (
    "id, owner, name, prompt, cron, every_seconds, at, timezone, since, missed, session,"
    " session_id, agent_id, project_id, token_id, expires_at, next_at, paused, version,"
    " created_at, updated_at, paused_code"
)
_NAMES = COLUMNS.replace(" ", "").split(",")
_MARKS = ", ".join("?" for _ in _NAMES)
# All parts are constants of this file.
ADD = f"INSERT INTO schedules ({COLUMNS}) VALUES ({_MARKS})"  # noqa: S608
SELECT = f"SELECT {COLUMNS} FROM schedules"  # noqa: S608
CHANGE = f"UPDATE schedules SET {', '.join(f'{name} = ?' for name in _NAMES[1:])} WHERE id = ?"  # noqa: S608
DELETE = "DELETE FROM schedules WHERE id = ?"
OF_SLOT = f"{SELECT} WHERE id = (SELECT schedule_id FROM schedule_slots WHERE id = ?)"  # noqa: S608
COUNT = "SELECT COUNT(*) FROM schedules WHERE owner = ?"

ADD_SLOT = (
    "INSERT INTO schedule_slots (id, schedule_id, scheduled_at, trigger, status, reason,"
    " reason_code, run_id, session_id, claimed_by, claimed_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (schedule_id, scheduled_at) DO NOTHING"
)
SETTLE_SLOT = (
    "UPDATE schedule_slots SET status = ?, reason = ?, reason_code = ?"
    " WHERE id = ? AND status = 'claimed'"
)
_SLOTS = (
    "SELECT k.id, k.scheduled_at, k.trigger, k.status, k.reason, k.reason_code, k.run_id,"
    " k.session_id, r.status"
    " FROM schedule_slots k LEFT JOIN runs r ON r.id = k.run_id WHERE k.schedule_id = ?"
)
HISTORY = f"{_SLOTS} ORDER BY k.scheduled_at DESC, k.id DESC LIMIT ?"
_OPEN = (
    "SELECT r.status, k.claimed_by FROM schedule_slots k LEFT JOIN runs r ON r.id = k.run_id"
    " WHERE k.schedule_id = ? AND (r.status IN ('running', 'queued')"
    " OR (k.status = 'claimed' AND r.id IS NULL AND k.claimed_at > ?))"
)
# A run starts within seconds of the claim. An older claim was left by a failure, and must not
# block its schedule until the next start of the service.
_STARTS_WITHIN = timedelta(minutes=5)
FORGET_SLOTS = "DELETE FROM schedule_slots WHERE schedule_id = ?"
# Started occurrences stay until their run has ended.
TRIM_SLOTS = (
    "DELETE FROM schedule_slots WHERE schedule_id = ? AND status <> 'claimed' AND id NOT IN"
    " (SELECT id FROM schedule_slots WHERE schedule_id = ?"
    " ORDER BY scheduled_at DESC, id DESC LIMIT ?)"
    " AND NOT EXISTS (SELECT 1 FROM runs r"
    " WHERE r.id = schedule_slots.run_id AND r.status IN ('running', 'queued'))"
)


def schedule_of(row: Sequence[Any]) -> Schedule:
    """Return a row of `COLUMNS` as a schedule."""
    found = dict(zip(_NAMES, row, strict=True))
    at = found.pop("at")
    timing = Timing(
        timezone=found.pop("timezone"),
        since=datetime.fromisoformat(found.pop("since")),
        cron=found.pop("cron"),
        every_seconds=found.pop("every_seconds"),
        at=None if at is None else datetime.fromisoformat(at),
    )
    return Schedule(timing=timing, **found)


def row_of(schedule: Schedule) -> tuple[Any, ...]:
    """Return a schedule as a row of `COLUMNS`."""
    timing = schedule.timing
    own = {
        "timezone": timing.timezone,
        "since": isoformat(timing.since),
        "cron": timing.cron,
        "every_seconds": timing.every_seconds,
        "at": None if timing.at is None else isoformat(timing.at),
    }
    return tuple(own[name] if name in own else getattr(schedule, name) for name in _NAMES)


def changed(transaction: Transaction, schedule: Schedule, moment: str, **fields: Any) -> Schedule:
    """Store changed fields of the schedule; return its new state."""
    after = replace(schedule, version=schedule.version + 1, updated_at=moment, **fields)
    transaction.execute(CHANGE, (*row_of(after)[1:], after.id))
    return after


def stands_still(reason: ScheduleReason | None) -> dict[str, Any]:
    """Return the fields of a paused schedule's reason; None if it is active."""
    if reason is None:
        return {"paused": "", "paused_code": None}
    return {"paused": reason.sentence, "paused_code": reason.code}


def is_busy(transaction: Transaction, schedule_id: str, now: datetime) -> bool:
    """Return whether a run of the schedule is active, or about to start."""
    open_slots = transaction.fetch(_OPEN, (schedule_id, isoformat(now - _STARTS_WITHIN)))
    return any(status is not None or process.is_alive(owner) for status, owner in open_slots)


def slots_of(rows: Sequence[Sequence[Any]]) -> list[Occurrence]:
    return [Occurrence(*row) for row in rows]
