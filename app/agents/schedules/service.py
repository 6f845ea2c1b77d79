"""Schedules of users: operations for tools and administrators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from app.agents.schedules import rows
from app.agents.schedules.reasons import HELD, PAUSED, ScheduleReason
from app.config.schedules import ScheduleSettings
from app.core import process
from app.core.clock import Clock, isoformat
from app.core.errors import NotFound, ToolFailed
from app.core.ids import new_id
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.domain.recurrence import Timing, check_cron, check_interval, moment_of
from app.domain.schedules import Occurrence, Schedule, ScheduleInput, ScheduleOwner
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment

SUBJECT = "schedules"
_RECENT = 20
_TIMES = ("cron", "every_seconds", "at")

Begin = Callable[[Schedule, Occurrence], Coroutine[None, None, None]]


class ScheduleService:
    """`Schedules` in the database.

    Attributes:
        news: set when the next time of any schedule may have changed.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        settings: ScheduleSettings,
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self.settings = settings
        self._begin: Begin | None = None
        self._starting: set[asyncio.Task[None]] = set()
        self.news = asyncio.Event()
        changes.watch(SUBJECT, self._noticed)

    def on_start(self, begin: Begin) -> None:
        """Set the callback that starts a run immediately."""
        self._begin = begin

    # -- for the tool ---------------------------------------------------------------------

    async def create(
        self, draft: ScheduleInput, owner: ScheduleOwner, *, by: str | None = None
    ) -> Schedule:
        user_id = owner.user_id
        now = self._clock.now()
        moment = isoformat(now)
        timing = self._timing(draft, now)
        schedule = Schedule(
            id=new_id("sch"),
            owner=user_id,
            name=draft.name,
            prompt=draft.prompt,
            timing=timing,
            missed=draft.missed,
            session=draft.session,
            session_id=new_id("ses") if draft.session == "continue" else None,
            agent_id=owner.agent_id,
            project_id=owner.project_id,
            token_id=owner.token_id,
            expires_at=self._expiry(draft.expires_at, timing, now),
            next_at=_next(timing, now),
            paused="",
            paused_code=None,
            version=1,
            created_at=moment,
            updated_at=moment,
        )

        def add(transaction: Transaction) -> None:
            if transaction.fetch(rows.COUNT, (user_id,))[0][0] >= self.settings.per_user:
                raise ToolFailed(
                    f"The maximum of {self.settings.per_user} schedules per user is "
                    "reached: delete one",
                    code="too_many_schedules",
                )
            transaction.execute(rows.ADD, rows.row_of(schedule))
            self._note(transaction, by or user_id, "created", None, schedule)

        await self._db.transact(add)
        self.news.set()
        return schedule

    async def find(self, owner: ScheduleOwner) -> Sequence[Schedule]:
        return [item for item in await self.all_of(owner.user_id) if owner.keeps(item)]

    async def all_of(self, owner: str | None) -> Sequence[Schedule]:
        """Return a user's schedules, or all (None), by name; for administrators."""
        condition, values = ("", ()) if owner is None else (" WHERE owner = ?", (owner,))

        def read(transaction: Transaction) -> list[Schedule]:
            found = transaction.fetch(f"{rows.SELECT}{condition} ORDER BY name, id", values)
            return [rows.schedule_of(row) for row in found]

        return await self._db.transact(read)

    async def get(self, owner: ScheduleOwner | None, schedule_id: str) -> Schedule:
        return await self._db.transact(lambda tx: _one(tx, owner, schedule_id))

    async def update(
        self,
        owner: ScheduleOwner,
        schedule_id: str,
        changes: Mapping[str, Any],
        *,
        by: str | None = None,
        expected: int | None = None,
    ) -> Schedule:
        now = self._clock.now()

        def change(transaction: Transaction) -> Schedule:
            before = _one(transaction, owner, schedule_id)
            check_version(expected, before.version)
            retimed = any(changes.get(name) for name in _TIMES)
            _check_shot(before, changes)
            draft = replace(_draft(before, timed=not retimed), **changes)
            timing = before.timing
            if {*_TIMES, "timezone", "recurring"} & set(changes):
                timing = self._timing(draft, now)
            expires_at = before.expires_at
            if "expires_at" in changes:
                expires_at = self._expiry(draft.expires_at, timing, now)
            session_id = before.session_id or new_id("ses")
            after = rows.changed(
                transaction,
                before,
                isoformat(now),
                name=draft.name,
                prompt=draft.prompt,
                timing=timing,
                missed=draft.missed,
                session=draft.session,
                session_id=session_id if draft.session == "continue" else None,
                # The author of the task is also the subject it is counted for.
                token_id=owner.token_id,
                expires_at=expires_at,
                next_at=_next(timing, now),
            )
            self._note(transaction, by or owner.user_id, "changed", before, after)
            return after

        return await self._change(change)

    async def pause(
        self, owner: ScheduleOwner | None, schedule_id: str, *, paused: bool, by: str | None = None
    ) -> Schedule:
        now = self._clock.now()

        def change(transaction: Transaction) -> Schedule:
            before = _one(transaction, owner, schedule_id)
            _check_held(before, owner)
            reason = None if not paused else PAUSED if owner is not None else HELD
            after = rows.changed(
                transaction,
                before,
                isoformat(now),
                **rows.stands_still(reason),
                next_at=_next(before.timing, now),
            )
            word = "paused" if paused else "resumed"
            self._note(transaction, by or before.owner, word, before, after)
            return after

        return await self._change(change)

    async def delete(
        self,
        owner: ScheduleOwner | None,
        schedule_id: str,
        *,
        by: str | None = None,
        expected: int | None = None,
    ) -> Schedule:
        def drop(transaction: Transaction) -> Schedule:
            gone = _one(transaction, owner, schedule_id)
            check_version(expected, gone.version)
            transaction.execute(rows.DELETE, (gone.id,))
            transaction.execute(rows.FORGET_SLOTS, (gone.id,))
            self._note(transaction, by or gone.owner, "deleted", gone, None)
            return gone

        return await self._change(drop)

    async def run_now(
        self, owner: ScheduleOwner | None, schedule_id: str, *, by: str | None = None
    ) -> Occurrence:
        now = self._clock.now()
        moment = isoformat(now)

        def claim(transaction: Transaction) -> tuple[Schedule, Occurrence]:
            schedule = _one(transaction, owner, schedule_id)
            _check_held(schedule, owner)
            # Otherwise a run that starts its own schedule would never end.
            if rows.is_busy(transaction, schedule_id, now):
                raise ToolFailed("A run of this schedule is active", code="already_begun")
            slot = slot_for(schedule, moment, "manual")
            if not transaction.execute(rows.ADD_SLOT, slot_row(schedule, slot, moment)):
                raise ToolFailed("A run of this schedule has just started", code="already_begun")
            transaction.execute(rows.TRIM_SLOTS, (schedule_id, schedule_id, self.settings.history))
            self._note(transaction, by or schedule.owner, "begun", None, schedule)
            return schedule, slot

        schedule, slot = await self._db.transact(claim)
        assert self._begin is not None
        # A claim whose start was cancelled would block the schedule for some time.
        starting = asyncio.create_task(self._begin(schedule, slot))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        await asyncio.shield(starting)
        found = await self.history(owner, schedule_id, _RECENT)
        return next((item for item in found if item.id == slot.id), slot)

    async def history(
        self, owner: ScheduleOwner | None, schedule_id: str, limit: int
    ) -> Sequence[Occurrence]:
        def read(transaction: Transaction) -> list[Occurrence]:
            _one(transaction, owner, schedule_id)
            return rows.slots_of(transaction.fetch(rows.HISTORY, (schedule_id, limit)))

        return await self._db.transact(read)

    # -- for the scheduler ----------------------------------------------------------------

    async def pause_for(self, schedule_id: str, reason: ScheduleReason) -> None:
        """Pause a schedule that cannot run, so that it does not fail repeatedly."""
        moment = isoformat(self._clock.now())

        def change(transaction: Transaction) -> None:
            found = transaction.fetch(f"{rows.SELECT} WHERE id = ?", (schedule_id,))
            before = rows.schedule_of(found[0]) if found else None
            if before is not None and before.paused_code != HELD.code:
                after = rows.changed(transaction, before, moment, **rows.stands_still(reason))
                self._note(transaction, "system", "paused", before, after)

        await self._db.transact(change)

    async def settle(
        self, slot: Occurrence, status: str, reason: ScheduleReason | None = None
    ) -> None:
        """Record the result of a claimed occurrence; delete a one-shot schedule that has started.

        Without a reason, the stored one stays.
        """
        code, sentence = reason or (slot.reason_code, slot.reason)

        def change(transaction: Transaction) -> None:
            if not transaction.execute(rows.SETTLE_SLOT, (status, sentence, code, slot.id)):
                return
            found = transaction.fetch(rows.OF_SLOT, (slot.id,))
            schedule = rows.schedule_of(found[0]) if found else None
            is_over = status == "started" and slot.trigger == "slot"
            if schedule is not None and schedule.timing.is_one_shot and is_over:
                transaction.execute(rows.DELETE, (schedule.id,))
                transaction.execute(rows.FORGET_SLOTS, (schedule.id,))
                self._note(transaction, "system", "deleted", schedule, None)

        await self._db.transact(change)

    # -- internal -------------------------------------------------------------------------

    async def _change(self, work: Callable[[Transaction], Schedule]) -> Schedule:
        after = await self._db.transact(work)
        self.news.set()
        return after

    async def _noticed(self) -> None:
        """Handle a change of schedules by another process."""
        self.news.set()

    def _timing(self, draft: ScheduleInput, now: datetime) -> Timing:
        zone = draft.timezone or self.settings.timezone
        try:
            timing = Timing(
                timezone=zone,
                # Whole seconds, as people read them.
                since=now.replace(microsecond=0),
                cron=None if draft.cron is None else check_cron(draft.cron),
                every_seconds=draft.every_seconds,
                at=None if draft.at is None else moment_of(draft.at, zone, now),
            )
            if not draft.recurring and timing.cron is not None:
                timing = replace(timing, at=timing.after(now))
            check_interval(timing, self.settings.min_interval_s)
        except ValueError as error:
            raise ToolFailed(str(error), code="invalid_schedule") from None
        if timing.after(now) is None:
            raise ToolFailed("The time has passed or never occurs", code="invalid_schedule")
        return timing

    def _expiry(self, text: str | None, timing: Timing, now: datetime) -> str | None:
        if text is None:
            return None
        try:
            return isoformat(moment_of(text, timing.timezone, now))
        except ValueError as error:
            raise ToolFailed(f"expires_at: {error}", code="invalid_schedule") from None

    def _note(
        self,
        transaction: Transaction,
        actor: str,
        outcome: str,
        before: Schedule | None,
        after: Schedule | None,
    ) -> None:
        increment(transaction, SUBJECT)
        subject = after or before
        assert subject is not None
        self._audit.within(
            transaction,
            AuditEntry(
                "schedule",
                actor=actor,
                subject=subject.id,
                before=before and shown(before),
                after=after and shown(after),
                agent_id=subject.agent_id,
                outcome=outcome,
            ),
        )


def shown(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule for people, with its times as entered."""
    timing = schedule.timing
    return {
        "id": schedule.id,
        "name": schedule.name,
        "prompt": schedule.prompt,
        "cron": timing.cron,
        "every_seconds": timing.every_seconds,
        "at": None if timing.at is None else isoformat(timing.at),
        "recurring": timing.at is None,
        "timezone": timing.timezone,
        "missed": schedule.missed,
        "session": schedule.session,
        "agent_id": schedule.agent_id,
        "project_id": schedule.project_id,
        "expires_at": schedule.expires_at,
        "next_at": schedule.next_at,
        "paused": schedule.paused,
        "paused_code": schedule.paused_code,
        "version": schedule.version,
        "created_at": schedule.created_at,
    }


def slot_for(schedule: Schedule, scheduled_at: str, trigger: Any) -> Occurrence:
    """Return an occurrence that starts a run, with predetermined IDs of run and session."""
    session_id = schedule.session_id or new_id("ses")
    return Occurrence(
        id=new_id("slt"),
        scheduled_at=scheduled_at,
        trigger=trigger,
        status="claimed",
        reason="",
        reason_code=None,
        run_id=new_id("run"),
        session_id=session_id,
        run_status=None,
    )


def slot_row(schedule: Schedule, slot: Occurrence, moment: str) -> tuple[Any, ...]:
    """Return the row of `ADD_SLOT`, claimed by this process."""
    return (
        *(slot.id, schedule.id, slot.scheduled_at, slot.trigger, slot.status, slot.reason),
        slot.reason_code,
        *(slot.run_id, slot.session_id, process.identity(), moment),
    )


def _check_held(schedule: Schedule, owner: ScheduleOwner | None) -> None:
    """Refuse to resume a schedule that an administrator paused, except for administrators."""
    if owner is not None and schedule.paused_code == HELD.code:
        raise ToolFailed(
            "An administrator has paused this schedule; only an administrator can resume it",
            code="held",
        )


def _one(transaction: Transaction, owner: ScheduleOwner | None, schedule_id: str) -> Schedule:
    """Return the schedule, for its owner, or for an administrator (None)."""
    found = transaction.fetch(f"{rows.SELECT} WHERE id = ?", (schedule_id,))
    schedule = rows.schedule_of(found[0]) if found else None
    if schedule is None and owner is None:
        raise NotFound(f"Schedule {schedule_id!r} not found", schedule_id=schedule_id)
    if schedule is None or (owner is not None and not owner.keeps(schedule)):
        raise ToolFailed(
            f"Schedule {schedule_id!r} not found; use `list` to show all", code="not_found"
        )
    return schedule


def _draft(schedule: Schedule, *, timed: bool) -> ScheduleInput:
    """Return the input of a schedule; without `timed`, without its timing."""
    timing = schedule.timing
    one_shot = timing.is_one_shot
    at = None if timing.at is None or one_shot else isoformat(timing.at)
    return ScheduleInput(
        name=schedule.name,
        prompt=schedule.prompt,
        cron=timing.cron if timed else None,
        every_seconds=timing.every_seconds if timed else None,
        at=at if timed else None,
        timezone=timing.timezone,
        missed=schedule.missed,
        session=schedule.session,
        expires_at=schedule.expires_at,
        recurring=not one_shot,
    )


def _check_shot(schedule: Schedule, changes: Mapping[str, Any]) -> None:
    if changes.get("recurring") is False and not (changes.get("cron") or schedule.timing.cron):
        raise ToolFailed("Only a schedule with cron can be changed to run once; use `at` instead")


def _next(timing: Timing, now: datetime) -> str | None:
    found = timing.after(now)
    return None if found is None else isoformat(found)
