"""Operators' side of desktop tasks: claim, start, report, finish.

The operator that holds a task knows its `claim_id`; every message about it must have that ID, and
come from the token that claimed it. Messages about other tasks get the same answer as about missing
ones.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.channels import task_rows
from app.channels.notifier import TaskNotifier
from app.channels.operator_messages import (
    Abilities,
    Claim,
    Done,
    Failed,
    OperatorProgress,
    TaskForOperator,
    WaitingTask,
)
from app.channels.store import ChannelStore
from app.channels.task_rows import DesktopTask
from app.config.channels import ChannelSettings
from app.core.clock import Clock, isoformat
from app.core.errors import Busy, Conflict, NotFound, RateLimited
from app.core.escaping import visible
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """Holder of a token.

    Attributes:
        user_id: name of the token.
        key: ID of the token, or the user without one.
    """

    user_id: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(TokenHolder):
    """Operator with its capabilities."""

    name: str
    apps: Abilities

    def can(self, task: DesktopTask) -> bool:
        """Return whether the operator announced this kind of task."""
        return any(
            task.app_id == app.app_id and task.action_type in app.actions for app in self.apps
        )


@dataclass(frozen=True, slots=True, eq=False)
class Connected:
    """Currently connected operator."""

    operator: Operator
    connection_id: str
    since: str
    source: str


class OperatorService:
    """Assigns tasks and receives reports."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        channels: ChannelStore,
        news: TaskNotifier,
        settings: ChannelSettings,
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._channels = channels
        self._news = news
        self._settings = settings
        self._connected: set[Connected] = set()

    @property
    def news(self) -> TaskNotifier:
        """Return the notifier of claimable tasks."""
        return self._news

    @property
    def lease_s(self) -> float:
        """Return the seconds after which a silent operator counts as lost."""
        return self._settings.lease_s

    def connected(self) -> list[Connected]:
        """Return the operators connected to this process, in order of connection."""
        return sorted(self._connected, key=lambda item: (item.since, item.connection_id))

    @contextmanager
    def connection(self, operator: Operator, connection_id: str, source: str) -> Iterator[None]:
        """Register an operator while it is connected.

        Raises:
            Conflict: an operator with the name and token is connected.
            RateLimited: its token has too many operators.
        """
        own = [item.operator for item in self._connected if item.operator.key == operator.key]
        if any(other.name == operator.name for other in own):
            raise Conflict(f"An operator {operator.name!r} of this token is already connected")
        if len(own) >= self._settings.max_operators:
            raise RateLimited("This token has too many connected operators", retry_after_ms=30_000)
        moment = isoformat(self._clock.now())
        item = Connected(operator, connection_id, moment, source)
        self._connected.add(item)
        try:
            yield
        finally:
            self._connected.discard(item)

    async def waiting(self, operator: Operator) -> list[WaitingTask]:
        """Return the tasks that the operator may claim, oldest first, without their content."""
        moment = isoformat(self._clock.now())
        found = await self._db.transact(lambda reading: task_rows.queued(reading, moment))
        return [
            WaitingTask(
                task_id=task.id,
                app_id=task.app_id,
                action_type=task.action_type,
                expires_at=task.expires_at,
            )
            for task in found
            if self._may_do(operator, task)
        ]

    async def claim(self, operator: Operator, task_id: str | None = None) -> TaskForOperator | None:
        """Claim the oldest permitted task, or the named one, exclusively.

        Returns None if there is none. A task must be started before anything is sent.

        Raises:
            Busy: it has already claimed a task.
        """
        moment = isoformat(self._clock.now())
        lease = self._lease()

        def take(transaction: Transaction) -> DesktopTask | None:
            if task_rows.held_by(transaction, operator.key, operator.name):
                raise Busy("Finish your current task first")
            for task in task_rows.queued(transaction, moment):
                if task_id in (None, task.id) and self._may_do(operator, task):
                    return self._move(
                        transaction,
                        task,
                        operator,
                        status="claimed",
                        operator=operator.name,
                        operator_key=operator.key,
                        claim_id=new_id("clm"),
                        lease_until=lease,
                        claimed_at=moment,
                    )
            return None

        task = await self._db.transact(take)
        return None if task is None else self._for_operator(task)

    async def start(self, holder: TokenHolder, claim: Claim) -> None:
        """Start a task before sending. From now on it cannot be withdrawn.

        Raises:
            NotFound: it does not hold the task (any more). Nothing may be sent.
            Conflict: it has already started it, or the time is over. Nothing may be sent.
        """
        moment = isoformat(self._clock.now())

        def begin(transaction: Transaction) -> DesktopTask:
            task = self._held(transaction, holder, claim)
            if task.status != "claimed":
                raise Conflict("The task has already been started", task_id=task.id)
            if task.expires_at <= moment:
                raise Conflict("The time limit of the task has passed", task_id=task.id)
            values = {"status": "running", "started_at": moment, "lease_until": self._lease()}
            return self._move(transaction, task, holder, **values)

        self._news.changed(await self._db.transact(begin))

    async def beat(self, holder: TokenHolder, claim: Claim) -> None:
        """Extend the lease of the operator's task.

        Raises:
            NotFound: it does not hold the task.
        """

        def extend(transaction: Transaction) -> None:
            task = self._held(transaction, holder, claim)
            task_rows.extend(transaction, task.id, self._lease())

        await self._db.transact(extend)

    async def progress(self, holder: TokenHolder, claim: Claim, progress: OperatorProgress) -> None:
        """Report progress to the waiting call.

        Raises:
            NotFound: it does not hold the task.
        """
        await self.beat(holder, claim)
        message = None if progress.message is None else visible(progress.message)
        self._news.reported(
            claim.task_id, OperatorProgress(stage=visible(progress.stage), message=message)
        )

    async def complete(self, holder: TokenHolder, claim: Claim, done: Done) -> None:
        """Finish a task whose text was sent.

        Raises:
            NotFound: it does not hold the task.
            Conflict: it has not started it.
        """

        def finish(transaction: Transaction) -> DesktopTask:
            task = self._held(transaction, holder, claim)
            if task.status != "running":
                raise Conflict("Start the task before you complete it", task_id=task.id)
            return self._finish(transaction, task, holder, status="succeeded", result=_result(done))

        self._news.changed(await self._db.transact(finish))

    async def fail(self, holder: TokenHolder, claim: Claim, failed: Failed) -> None:
        """Finish a task whose text was not sent.

        Raises:
            NotFound: it does not hold the task.
        """

        def finish(transaction: Transaction) -> DesktopTask:
            task = self._held(transaction, holder, claim)
            why = visible(failed.detail) or f"The operator failed: {failed.code}"
            return self._finish(
                transaction, task, holder, status="failed", code=failed.code, error=why
            )

        self._news.changed(await self._db.transact(finish))

    async def release(self, holder: TokenHolder, claim: Claim) -> None:
        """Return a task that was not started.

        Raises:
            NotFound: it does not hold the task.
            Conflict: it was started.
        """

        def give_back(transaction: Transaction) -> DesktopTask:
            task = self._held(transaction, holder, claim)
            if task.status != "claimed":
                raise Conflict("A started task cannot be released", task_id=task.id)
            return self._give_back(transaction, task, holder)

        self._news.changed(await self._db.transact(give_back))

    async def left(self, operator: Operator) -> None:
        """Handle a lost connection: tasks not started are returned immediately.

        A started task stays with the operator until its lease expires: it may reconnect and report
        the result.
        """

        def give_back(transaction: Transaction) -> list[DesktopTask]:
            held = task_rows.held_by(transaction, operator.key, operator.name)
            unstarted = [task for task in held if task.status == "claimed"]
            return [self._give_back(transaction, task, operator) for task in unstarted]

        for task in await self._db.transact(give_back):
            self._news.changed(task)

    # -- internal -------------------------------------------------------------------------

    def _may_do(self, operator: Operator, task: DesktopTask) -> bool:
        channel = self._channels.find(task.channel_id)
        if channel is None or not channel.enabled or not operator.can(task):
            return False
        reply = channel.config.weixin_reply
        named = reply.operators
        return reply.enabled and (named is None or operator.user_id in named)

    def _held(self, transaction: Transaction, holder: TokenHolder, claim: Claim) -> DesktopTask:
        """Return the task of a claim.

        Raises:
            NotFound: it does not exist, belongs to another operator, or the claim has ended,
                without distinction.
        """
        unknown = NotFound("You have not claimed this task", task_id=claim.task_id)
        try:
            task = task_rows.get(transaction, claim.task_id)
        except NotFound:
            raise unknown from None
        if task.claim_id is None or task.operator_key != holder.key:
            raise unknown
        if not hmac.compare_digest(task.claim_id, claim.claim_id):
            raise unknown
        return task

    def _finish(
        self, transaction: Transaction, task: DesktopTask, holder: TokenHolder, **values: Any
    ) -> DesktopTask:
        """End a task; its claim is invalid afterwards, so no report can be repeated."""
        moment = isoformat(self._clock.now())
        ended = {"claim_id": None, "lease_until": None, "finished_at": moment}
        return self._move(transaction, task, holder, **ended, **values)

    def _give_back(
        self, transaction: Transaction, task: DesktopTask, holder: TokenHolder
    ) -> DesktopTask:
        return self._move(transaction, task, holder, status="queued", **task_rows.UNTOUCHED)

    def _move(
        self, transaction: Transaction, task: DesktopTask, by: TokenHolder, /, **values: Any
    ) -> DesktopTask:
        self._audit.within(
            transaction,
            AuditEntry(
                f"desktop.{'returned' if values['status'] == 'queued' else values['status']}",
                actor=by.user_id,
                subject=task.id,
                session_id=task.session_id,
                run_id=task.run_id,
                agent_id=task.agent_id,
                operation_id=task.operation_id,
                outcome=values.get("code"),
                detail={"operator": values.get("operator", task.operator)},
            ),
        )
        return task_rows.change(transaction, task.id, **values)

    def _lease(self) -> str:
        return isoformat(self._clock.now() + timedelta(seconds=self._settings.lease_s))

    def _for_operator(self, task: DesktopTask) -> TaskForOperator:
        assert task.claim_id is not None
        return TaskForOperator(
            task_id=task.id,
            claim_id=task.claim_id,
            app_id=task.app_id,
            action_type=task.action_type,
            target=task.target,
            text=task.text,
            expires_at=task.expires_at,
            lease_s=self._settings.lease_s,
        )


def _result(done: Done) -> str:
    return Done(verified=done.verified, detail=visible(done.detail)[:500]).model_dump_json()
