"""Desktop tasks: created by calls, which wait for them; ended by operators, people or timeouts.

A task goes queued → claimed → running → succeeded or failed. Until it runs it can be withdrawn
reliably, so any other end also prevents its sending. After that only its operator knows the
outcome, and it is never sent a second time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from app.channels import task_rows
from app.channels.notifier import TaskNotifier, TaskSubscription
from app.channels.operator_messages import OperatorProgress
from app.channels.task_rows import DesktopTask, TaskFilter
from app.config.channels import ChannelSettings
from app.core.background import background
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Conflict, NotFound, RateLimited, ToolFailed
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.domain.channels import Watermark
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions

log = logging.getLogger(__name__)

Report = Callable[[OperatorProgress], Awaitable[None]]
Unsent = Literal["failed", "expired", "cancelled"]

_MINUTE = timedelta(minutes=1)
_LONGEST_PAUSE_S = 5.0
_RETRY_MS = 10_000
_NOBODY = "No operator sent it in time"
_LOST = "The operator disconnected while sending: the text may have been sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesktopTaskRequest:
    """Task for an operator, with its owner.

    Attributes:
        task_id: result of `new_task_id`, possibly part of the watermark.
        per_minute: maximum tasks of the channel per minute.
    """

    task_id: str
    channel_id: str
    model_channel_id: str | None
    app_id: str
    action_type: str
    target: str
    text: str
    watermark: Watermark
    per_minute: int
    operation_id: str
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None


def new_task_id() -> str:
    """Return the ID of a task to be created."""
    return new_id("dtk")


class DesktopOpService:
    """Creates desktop tasks, waits for them, and ends abandoned ones."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        news: TaskNotifier,
        settings: ChannelSettings,
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._news = news
        self._settings = settings
        self._withdrawals: set[asyncio.Task[None]] = set()
        changes.watch(task_rows.SUBJECT, self.look_again)

    async def run_and_wait(
        self, order: DesktopTaskRequest, *, report: Report, wait_s: float | None = None
    ) -> DesktopTask:
        """Run a task; return it finished, or still running at the timeout.

        A task not started by then expires, and one whose caller disconnects before is cancelled:
        neither runs later.

        Args:
            report: called with the operator's progress.
            wait_s: seconds to wait; None for the setting.

        Raises:
            ToolFailed: code `desktop_busy`: too many tasks are waiting.
            RateLimited: the channel has reached its limit per minute.
            StorageUnavailable: it cannot be stored.
        """
        wait_s = self._settings.wait_s if wait_s is None else wait_s
        with self._news.waiting(order.task_id) as waiter:
            try:
                await self._add(order, wait_s)
                async with asyncio.timeout(wait_s):
                    return await _followed(waiter, report)
            except TimeoutError:
                task, _ = await self._end_unstarted(order.task_id, "expired", _NOBODY)
                return task
            except asyncio.CancelledError:
                self._withdraw(order.task_id)
                raise

    async def cancel(self, task_id: str, *, actor: str) -> DesktopTask:
        """Withdraw a task.

        Raises:
            NotFound: the task does not exist.
            Conflict: it is finished, or an operator is running it.
        """
        task, ended = await self._end_unstarted(
            task_id, "cancelled", f"Cancelled by {actor}", actor=actor
        )
        if ended:
            return task
        if task.status == "running":
            raise Conflict("An operator is already sending it", task_id=task_id)
        raise Conflict(f"It is already {task.status}", task_id=task_id)

    async def get(self, task_id: str) -> DesktopTask:
        """Return a task.

        Raises:
            NotFound: the task does not exist.
        """
        return await self._db.transact(lambda transaction: task_rows.get(transaction, task_id))

    async def page(
        self, wanted: TaskFilter, *, limit: int, before: str | None
    ) -> list[DesktopTask]:
        """Return a page of tasks, newest first. `before` is the last ID of the previous page.

        Raises:
            NotFound: `before` is not a task.
        """

        def read(transaction: Transaction) -> list[DesktopTask]:
            return task_rows.page(transaction, wanted, limit=limit, before=before)

        return await self._db.transact(read)

    async def look_again(self) -> None:
        """Handle changes of tasks by another process."""
        awaited = self._news.awaited

        def read(transaction: Transaction) -> list[DesktopTask]:
            found = []
            for task_id in awaited:
                try:
                    found.append(task_rows.get(transaction, task_id))
                except NotFound:
                    continue  # it is not stored yet
            return found

        for task in await self._db.transact(read) if awaited else ():
            self._news.changed(task)
        self._news.wake()

    async def sweep(self) -> None:
        """End tasks past their time, withdraw those of lost operators, and delete old ones."""
        now = self._clock.now()
        moment = isoformat(now)
        days = self._settings.history_days

        def look(transaction: Transaction) -> list[DesktopTask]:
            if days:
                task_rows.forget(transaction, isoformat(now - timedelta(days=days)))
            return [
                self._settle_overdue(transaction, task, moment)
                for task in task_rows.overdue(transaction, moment)
            ]

        for task in await self._db.transact(look):
            self._news.changed(task)

    async def keep_sweeping(self) -> None:
        """Sweep periodically until cancelled."""
        while True:
            await asyncio.sleep(min(_LONGEST_PAUSE_S, self._settings.lease_s / 2))
            with ErrorBoundary() as held:
                await self.sweep()
            if held.error is not None:
                log.warning("cannot check desktop tasks: %s", held.error)

    async def close(self) -> None:
        """Finish withdrawing tasks of cancelled calls."""
        await asyncio.gather(*self._withdrawals, return_exceptions=True)

    # -- internal -------------------------------------------------------------------------

    async def _add(self, order: DesktopTaskRequest, wait_s: float) -> None:
        now = self._clock.now()
        task = DesktopTask(
            id=order.task_id,
            channel_id=order.channel_id,
            model_channel_id=order.model_channel_id,
            app_id=order.app_id,
            action_type=order.action_type,
            target=order.target,
            text=order.text,
            watermark=order.watermark,
            status="queued",
            agent_id=order.agent_id,
            user_id=order.user_id,
            session_id=order.session_id,
            run_id=order.run_id,
            operation_id=order.operation_id,
            created_at=isoformat(now),
            expires_at=isoformat(now + timedelta(seconds=wait_s)),
        )
        a_minute_ago = isoformat(now - _MINUTE)

        def add(transaction: Transaction) -> None:
            if task_rows.waiting_count(transaction) >= self._settings.max_queued:
                raise ToolFailed("Too many desktop tasks are already waiting", code="desktop_busy")
            lately = task_rows.sent_since(transaction, order.channel_id, a_minute_ago)
            if lately >= order.per_minute:
                raise RateLimited(
                    f"The channel is limited to {order.per_minute} texts per minute",
                    retry_after_ms=_RETRY_MS,
                )
            task_rows.add(transaction, task)
            self._note(transaction, "queued", task, task.agent_id or task.user_id or "system")

        await self._db.transact(add)
        self._news.changed(task)

    async def _end_unstarted(
        self, task_id: str, status: Unsent, why: str, *, actor: str = "system"
    ) -> tuple[DesktopTask, bool]:
        """End a task unless it runs or is finished; return its state, and whether this ended it."""
        moment = isoformat(self._clock.now())

        def end(transaction: Transaction) -> tuple[DesktopTask, bool]:
            task = task_rows.get(transaction, task_id)
            if task.status not in ("queued", "claimed"):
                return task, False
            return self._end(transaction, task, status, why, moment, actor=actor), True

        task, ended = await self._db.transact(end)
        self._news.changed(task)
        return task, ended

    def _settle_overdue(
        self, transaction: Transaction, task: DesktopTask, moment: str
    ) -> DesktopTask:
        if task.status == "running":
            return self._end(transaction, task, "failed", _LOST, moment, code="outcome_unknown")
        if task.expires_at <= moment:
            return self._end(transaction, task, "expired", _NOBODY, moment)
        self._note(transaction, "returned", task, "system")
        return task_rows.change(transaction, task.id, status="queued", **task_rows.UNTOUCHED)

    def _end(
        self,
        transaction: Transaction,
        task: DesktopTask,
        status: Unsent,
        why: str,
        moment: str,
        *,
        code: str | None = None,
        actor: str = "system",
    ) -> DesktopTask:
        self._note(transaction, status, task, actor)
        return task_rows.change(
            transaction,
            task.id,
            status=status,
            error=why,
            code=code or status,
            finished_at=moment,
            claim_id=None,
            lease_until=None,
        )

    def _withdraw(self, task_id: str) -> None:
        """Withdraw the task of an ended call, which must not wait for it."""
        work = asyncio.create_task(self._withdrawn(task_id))
        self._withdrawals.add(work)
        work.add_done_callback(self._withdrawals.discard)

    async def _withdrawn(self, task_id: str) -> None:
        with ErrorBoundary() as held:
            await self._end_unstarted(task_id, "cancelled", "The call was cancelled")
        # A call cancelled before its task was stored has none.
        if held.error is not None and not isinstance(held.error, NotFound):
            log.warning("cannot withdraw desktop task %s: %s", task_id, held.error)

    def _note(self, transaction: Transaction, what: str, task: DesktopTask, actor: str) -> None:
        self._audit.within(
            transaction,
            AuditEntry(
                f"desktop.{what}",
                actor=actor,
                subject=task.id,
                session_id=task.session_id,
                run_id=task.run_id,
                agent_id=task.agent_id,
                operation_id=task.operation_id,
                detail={"channel_id": task.channel_id, "target": task.target},
            ),
        )


async def _followed(waiter: TaskSubscription, report: Report) -> DesktopTask:
    while True:
        news = await waiter.next()
        if isinstance(news, DesktopTask):
            return news
        await report(news)


@asynccontextmanager
async def swept(service: DesktopOpService) -> AsyncIterator[None]:
    """Maintain desktop tasks for the duration of the block."""
    try:
        async with background(service.keep_sweeping()):
            yield
    finally:
        await service.close()
