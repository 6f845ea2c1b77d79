"""Start of scheduled runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from app.agents.run_subjects import RunSubjects
from app.agents.runs import RunService
from app.agents.schedules import claims, reasons, rows
from app.agents.schedules.reasons import ScheduleReason
from app.agents.schedules.service import ScheduleService
from app.agents.sessions import Session, Sessions
from app.core.clock import Clock
from app.core.error_boundary import ErrorBoundary
from app.core.errors import NotFound, TollgateError, Unauthenticated
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Transaction
from app.domain.schedules import Occurrence, Schedule
from app.execution.conditions import HealthMonitor
from app.governance.limits import QuotaSubject

log = logging.getLogger(__name__)

# Maximum wait: clocks are changed and machines sleep.
_LONGEST_WAIT_S = 30.0


class Scheduler:
    """Starts due occurrences, one check at a time."""

    def __init__(
        self,
        schedules: ScheduleService,
        sessions: Sessions,
        runs: RunService,
        subjects: RunSubjects,
        db: DatabaseWriter,
        clock: Clock,
        conditions: HealthMonitor,
        redactor: Redactor,
    ) -> None:
        self._schedules = schedules
        self._sessions = sessions
        self._runs = runs
        self._subjects = subjects
        self._db = db
        self._clock = clock
        self._conditions = conditions
        self._redactor = redactor
        # At the first check, times may have been written under another clock.
        self._looked_at = datetime.max.replace(tzinfo=UTC)
        schedules.on_start(self.begin)

    async def run(self) -> None:
        """Check whenever an occurrence is due, until cancelled."""
        await self._contained(self.recover)
        while True:
            await self._conditions.admitted()
            self._schedules.news.clear()
            await self._contained(self.tick)
            wait = await self._wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._schedules.news.wait()

    async def tick(self) -> None:
        """Claim and start every due occurrence."""
        now = self._clock.now()

        was_turned_back, self._looked_at = now < self._looked_at, now

        def take(transaction: Transaction) -> list[claims.OccurrenceClaim]:
            if was_turned_back:
                claims.come_back(transaction, now)
            return claims.claim_due(transaction, now, self._schedules.settings)

        for claim in await self._db.transact(take):
            # One failed start must not block later ones.
            await self._contained(partial(self.begin, claim.schedule, claim.slot))

    async def recover(self) -> None:
        """Continue with occurrences that another process claimed and did not start."""
        for schedule_id, slot in await self._db.transact(claims.left_behind):
            await self._contained(partial(self._go_on, schedule_id, slot))

    async def _go_on(self, schedule_id: str, slot: Occurrence) -> None:
        """Start an orphaned occurrence, or record why not."""
        if slot.run_status is not None:
            await self._schedules.settle(slot, "started")
            return
        schedule = await self._found(schedule_id)
        if schedule is None:
            await self._schedules.settle(slot, "failed", reasons.SCHEDULE_GONE)
        elif schedule.paused:
            await self._schedules.settle(slot, "skipped", reasons.paused_because(schedule.paused))
        elif self._is_late(slot) and schedule.missed == "skip":
            await self._schedules.settle(slot, "missed", reasons.STOPPED)
        else:
            await self.begin(schedule, slot)

    async def begin(self, schedule: Schedule, slot: Occurrence) -> None:
        """Start the run of a claimed occurrence, or record why there is none."""
        has_started = False
        with ErrorBoundary() as held:
            has_started = await self._start(schedule, slot)
        if has_started:
            # A run that has started has not failed, whatever happens to its record.
            await self._db.flush_with_retry()
            await self._schedules.settle(slot, "started")
        elif held.error is not None:
            log.error("a scheduled run failed to start", exc_info=held.error)
            # The next process would start a claim without a result again.
            await self._fails(schedule, slot, reasons.INTERNAL, for_good=False)

    async def _start(self, schedule: Schedule, slot: Occurrence) -> bool:
        """Start the run, or record why there is none; return whether it has started."""
        quota_subject = await self._quota_subject(schedule)
        if isinstance(quota_subject, ScheduleReason):
            await self._fails(schedule, slot, quota_subject, for_good=True)
            return False
        try:
            session = await self._session(schedule, slot)
            await self._runs.send_message(
                session,
                [{"type": "text", "text": _words(schedule, slot)}],
                when_busy="queue",
                agent_id=schedule.agent_id,
                quota_subject=quota_subject,
                trigger="schedule",
                run_id=slot.run_id,
                attended=False,
            )
        except TollgateError as error:
            for_good = isinstance(error, NotFound | Unauthenticated)
            reason = ScheduleReason(code=error.code, sentence=error.message)
            await self._fails(schedule, slot, reason, for_good=for_good)
            return False
        return True

    async def _fails(
        self, schedule: Schedule, slot: Occurrence, reason: ScheduleReason, *, for_good: bool
    ) -> None:
        await self._schedules.settle(slot, "failed", reason)
        if for_good:
            await self._schedules.pause_for(schedule.id, reason)

    async def _quota_subject(self, schedule: Schedule) -> QuotaSubject | ScheduleReason:
        """Return the subject the run is counted for, or why the schedule cannot run any more."""
        try:
            self._subjects.check_agent(schedule.agent_id)
        except NotFound as error:
            return ScheduleReason(code="agent_gone", sentence=error.message)
        try:
            self._subjects.check_project(schedule.project_id)
        except NotFound as error:
            return ScheduleReason(code="project_gone", sentence=error.message)
        try:
            return await self._subjects.quota_subject(schedule.token_id, schedule.owner)
        except Unauthenticated:
            return reasons.TOKEN_GONE

    async def _session(self, schedule: Schedule, slot: Occurrence) -> Session:
        found = await self._sessions.get(slot.session_id)
        return found or self._sessions.create(
            user_id=schedule.owner,
            title=self._redactor.text(schedule.name),
            project_id=schedule.project_id,
            agent_id=schedule.agent_id,
            session_id=slot.session_id,
            meta={"schedule_id": schedule.id},
        )

    async def _found(self, schedule_id: str) -> Schedule | None:
        def read(transaction: Transaction) -> Schedule | None:
            found = transaction.fetch(f"{rows.SELECT} WHERE id = ?", (schedule_id,))
            return rows.schedule_of(found[0]) if found else None

        return await self._db.transact(read)

    def _is_late(self, slot: Occurrence) -> bool:
        passed = self._clock.now() - datetime.fromisoformat(slot.scheduled_at)
        return passed > timedelta(seconds=self._schedules.settings.grace_s)

    async def _wait(self) -> float:
        """Return the seconds until the next check."""
        with ErrorBoundary() as held:
            due = await self._db.transact(claims.next_time)
        if held.error is not None or due is None:
            return _LONGEST_WAIT_S
        left = (datetime.fromisoformat(due) - self._clock.now()).total_seconds()
        return min(max(left, 0.01), _LONGEST_WAIT_S)

    async def _contained(self, work: Callable[[], Awaitable[None]]) -> None:
        with ErrorBoundary() as held:
            await work()
        if held.error is not None:
            log.error("failed to check schedules, or to start a scheduled run", exc_info=held.error)


def _words(schedule: Schedule, slot: Occurrence) -> str:
    """Return the prompt: the task, and the note that the run is unattended."""
    head = f"Scheduled run {schedule.name!r} of {slot.scheduled_at}; this run is unattended."
    if slot.reason:
        head += f" ({slot.reason}.)"
    return f"{head}\n\n{schedule.prompt}"
