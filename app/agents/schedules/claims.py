"""Claims of due occurrences: each is taken once, in one transaction, by one process.

The row of an occurrence and the schedule's next time are committed together, before the run starts.
A process that finds a claimed row after a crash knows the ID of its run: if the run exists, it has
started; if not, it will not start by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.agents.schedules import reasons, rows
from app.agents.schedules.service import slot_for, slot_row
from app.config.schedules import ScheduleSettings
from app.core import process
from app.core.clock import isoformat
from app.db.writer import Transaction
from app.domain.schedules import Occurrence, Schedule, SlotStatus

_DUE = f"{rows.SELECT} WHERE next_at <= ? AND paused = '' ORDER BY next_at, id LIMIT 100"
_NEXT = "SELECT MIN(next_at) FROM schedules WHERE paused = ''"
_COMING = f"{rows.SELECT} WHERE next_at > ? AND paused = ''"
_LEFT = (
    "SELECT k.id, k.schedule_id, k.scheduled_at, k.trigger, k.status, k.reason, k.reason_code,"
    " k.run_id, k.session_id, r.status, k.claimed_by"
    " FROM schedule_slots k LEFT JOIN runs r ON r.id = k.run_id WHERE k.status = 'claimed'"
)
_TAKE = "UPDATE schedule_slots SET claimed_by = ? WHERE id = ? AND claimed_by = ?"


@dataclass(frozen=True, slots=True)
class OccurrenceClaim:
    """Occurrence that this process must start."""

    schedule: Schedule
    slot: Occurrence


def next_time(transaction: Transaction) -> str | None:
    """Return when the next schedule is due."""
    found: str | None = transaction.fetch(_NEXT)[0][0]
    return found


def come_back(transaction: Transaction, now: datetime) -> None:
    """Correct next times that were computed while the clock was ahead.

    An occurrence that has already started a run stays in the history, and starts no second one.
    """
    for row in transaction.fetch(_COMING, (isoformat(now),)):
        schedule = rows.schedule_of(row)
        following = schedule.timing.after(now)
        if following is not None and isoformat(following) < str(schedule.next_at):
            rows.changed(transaction, schedule, isoformat(now), next_at=isoformat(following))


def claim_due(
    transaction: Transaction, now: datetime, settings: ScheduleSettings
) -> list[OccurrenceClaim]:
    """Claim every due occurrence; those that are not started are recorded in the history."""
    claims = []
    for row in transaction.fetch(_DUE, (isoformat(now),)):
        schedule = rows.schedule_of(row)
        if claim := _claim(transaction, schedule, now, settings):
            claims.append(claim)
    return claims


def _claim(
    transaction: Transaction, schedule: Schedule, now: datetime, settings: ScheduleSettings
) -> OccurrenceClaim | None:
    assert schedule.next_at is not None
    first = datetime.fromisoformat(schedule.next_at)
    if schedule.expires_at is not None and schedule.expires_at <= isoformat(now):
        expired = rows.stands_still(reasons.EXPIRED)
        rows.changed(transaction, schedule, isoformat(now), **expired, next_at=None)
        return None
    timing = schedule.timing
    latest, count = timing.latest(first - timedelta(seconds=1), now)
    latest, count = latest or first, max(count, 1)
    following = timing.after(max(latest, now))
    after = rows.changed(
        transaction,
        schedule,
        isoformat(now),
        next_at=None if following is None else isoformat(following),
    )
    slot = _judged(transaction, schedule, latest, count, now, settings)
    added = transaction.execute(rows.ADD_SLOT, slot_row(schedule, slot, isoformat(now)))
    transaction.execute(rows.TRIM_SLOTS, (schedule.id, schedule.id, settings.history))
    return OccurrenceClaim(after, slot) if added and slot.status == "claimed" else None


def _judged(
    transaction: Transaction,
    schedule: Schedule,
    latest: datetime,
    count: int,
    now: datetime,
    settings: ScheduleSettings,
) -> Occurrence:
    """Return the row of the latest occurrence: to start it, or why it is not started."""
    slot = slot_for(schedule, isoformat(latest), "slot")
    on_time = now - latest <= timedelta(seconds=settings.grace_s)
    missed = count - 1 if on_time else count
    reason = reasons.missed(missed) if missed else None
    if not on_time and schedule.missed == "skip":
        return _with_status(slot, "missed", reason)
    if rows.is_busy(transaction, schedule.id, now):
        return _with_status(slot, "skipped", reasons.BUSY)
    return _with_status(slot, slot.status, reason)


def _with_status(
    slot: Occurrence, status: SlotStatus, reason: reasons.ScheduleReason | None
) -> Occurrence:
    code, sentence = reason or (None, "")
    return replace(slot, status=status, reason=sentence, reason_code=code)


def left_behind(transaction: Transaction) -> list[tuple[str, Occurrence]]:
    """Take over claimed occurrences of ended processes, by schedule."""
    taken = []
    for row in transaction.fetch(_LEFT):
        slot_id, schedule_id, *fields, claimed_by = row
        if process.is_alive(claimed_by):
            continue
        if transaction.execute(_TAKE, (process.identity(), slot_id, claimed_by)):
            taken.append((schedule_id, Occurrence(slot_id, *fields)))
    return taken
