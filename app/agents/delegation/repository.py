"""Rows of batches and tasks, available to everyone even after a restart.

Rows written with an event are appended, not awaited, so that one commit contains both: every
recorded end has its event, exactly once. Batches that continue after a restart have additional
data, see `progress.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import orjson

from app.agents.delegation.model import SubagentTask, TaskBatch, aggregate
from app.agents.delegation.progress import parent_stored, task_stored
from app.core import process
from app.core.clock import Clock, isoformat
from app.core.errors import NotFound
from app.core.redaction import Redactor
from app.core.text import dump_json
from app.db.delegation_statements import (
    END_BATCH,
    FORGET_PROGRESS,
    INTERRUPT_TASK,
    KEEP_PARENT,
    LEAVE_BATCH,
    SAVE_TASK,
)
from app.db.writer import DatabaseWriter, Transaction
from app.domain.delegation import ENDED, BatchReport, TaskReport
from app.execution.deferred_tools import DeferredTools

T = TypeVar("T")

_ADD_BATCH = (
    "INSERT INTO delegation_batches (id, session_id, parent_run_id, operation_id, kind, name,"
    " background, fingerprint, status, owner, created_at, parent)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ADD_TASK = (
    "INSERT INTO delegated_tasks (id, batch_id, run_id, position, label, spec, routes, blocked,"
    " status, state, progress) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BATCHES = (
    "SELECT id, session_id, parent_run_id, kind, name, background, status, created_at"
    " FROM delegation_batches"
)
_TASKS = (
    "SELECT id, batch_id, run_id, label, spec, routes, blocked, status, state, error, started_at,"
    " finished_at FROM delegated_tasks"
)
_LOST = "SELECT id, owner FROM delegation_batches WHERE status = 'running'"
_TAKE_OVER = "UPDATE delegation_batches SET owner = ? WHERE id = ?"
_RUN = "SELECT status FROM runs WHERE id = ?"
_KEPT = "SELECT fingerprint, parent FROM delegation_batches WHERE id = ?"
_PROGRESS = "SELECT id, progress FROM delegated_tasks WHERE batch_id = ?"
INTERRUPTED = {
    "code": "interrupted",
    "message": "The service stopped while this task was running; its progress is saved",
}


@dataclass(frozen=True, slots=True)
class OrphanedBatch:
    """Batch left by an ended process.

    Attributes:
        report: stored report.
        begun: IDs of tasks with a start event and no end.
        is_left: its process stopped regularly; otherwise it crashed.
        parent: stored parent; None if the batch must not continue.
        parent_status: status of the delegating run.
        progress: stored progress of each task, by ID.
    """

    report: BatchReport
    begun: frozenset[str]
    is_left: bool
    fingerprint: str
    parent: str | None
    parent_status: str | None
    progress: Mapping[str, str | None]


class DelegationRepository:
    """Store of delegated work."""

    def __init__(
        self, db: DatabaseWriter, clock: Clock, redactor: Redactor, deferred: DeferredTools
    ) -> None:
        self._db = db
        self._clock = clock
        self._redactor = redactor
        self._deferred = deferred

    async def flush(self) -> None:
        """Wait until everything saved so far is on disk. Raises: StorageUnavailable."""
        await self._db.flush()

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Return the result of `work` in a transaction."""
        return await self._db.transact(work)

    async def add(self, batch: TaskBatch) -> None:
        """Store a batch before it starts."""
        parent, name = batch.parent, self._redactor.text(batch.name)
        row = (
            *(batch.id, parent.session.id, parent.run_id, parent.operation_id, batch.kind),
            *(name, batch.background, batch.fingerprint, "running", process.identity()),
            *(batch.created_at, self._parent_of(batch)),
        )
        rows = [(*_task_row(task, self._redactor), self._progress_of(task)) for task in batch.tasks]

        def write(transaction: Transaction) -> None:
            transaction.execute(_ADD_BATCH, row)
            for task in rows:
                transaction.execute(_ADD_TASK, task)

        await self._db.transact(write)

    def save(self, task: SubagentTask) -> None:
        """Store a task's progress in the next commit.

        Raises:
            StorageUnavailable: the database accepts no more writes.
        """
        state, error = self._redactor.secrets_in([task.state(), task.error])
        row = (
            *(task.status, dump_json(state).decode(), _json(error)),
            *(task.started_at, task.finished_at, self._progress_of(task), task.id),
        )
        self._db.append(SAVE_TASK, row)

    def goes_on(self, batch: TaskBatch) -> None:
        """Mark the batch as one that the next process continues; see `save`."""
        for task in batch.tasks:
            task.goes_on = True
            self.save(task)
        self.keep_parent(batch)

    def keep_parent(self, batch: TaskBatch) -> None:
        """Update who waits for the batch; see `save`."""
        row = (batch.background, self._parent_of(batch), batch.id)
        self._db.append(KEEP_PARENT, row)

    def leave(self, batch: TaskBatch) -> None:
        """Leave the batch to the next process; see `save`."""
        self._db.append(LEAVE_BATCH, (batch.id,))

    def end(self, batch: TaskBatch) -> None:
        """Store the end of a batch; see `save`."""
        status = aggregate([task.status for task in batch.tasks])
        self._db.append(END_BATCH, (status, batch.finished_at, batch.id))
        self._db.append(FORGET_PROGRESS, (batch.id,))

    def _parent_of(self, batch: TaskBatch) -> str | None:
        return parent_stored(batch) if any(task.goes_on for task in batch.tasks) else None

    def _progress_of(self, task: SubagentTask) -> str | None:
        if not task.goes_on:
            return None
        found = self._deferred.shown_to(task.run_id)
        return task_stored(task, now=self._clock.monotonic(), found=found)

    async def report(self, id_: str, *, session_id: str | None) -> BatchReport:
        """Return a stored batch; for a task, its batch with only that task.

        Raises:
            NotFound: it does not exist in this session.
        """
        found = await self._db.transact(lambda transaction: _find(transaction, id_))
        if found is None or session_id not in (None, found.session_id):
            raise NotFound(f"Delegated task {id_!r} not found in this session", id=id_)
        return found

    async def reports(
        self, *, session_id: str | None, run_id: str | None, running: bool, limit: int
    ) -> list[BatchReport]:
        """Return reports, newest first."""
        conditions, values = ["1 = 1"], list[Any]()
        if session_id is not None:
            conditions.append("session_id = ?")
            values.append(session_id)
        if run_id is not None:
            conditions.append("parent_run_id = ?")
            values.append(run_id)
        if running:
            conditions.append("status = 'running'")
        where = f" WHERE {' AND '.join(conditions)} ORDER BY created_at DESC, id DESC LIMIT ?"

        def read(transaction: Transaction) -> list[BatchReport]:
            rows = transaction.fetch(_BATCHES + where, (*values, limit))
            return [_batch_of(row, _tasks(transaction, row[0])) for row in rows]

        return await self._db.transact(read)

    async def take_lost(self) -> list[OrphanedBatch]:
        """Take over the batches of ended processes, which the caller must close."""
        owner = process.identity()

        def take(transaction: Transaction) -> list[OrphanedBatch]:
            lost = [
                (batch_id, not former)
                for batch_id, former in transaction.fetch(_LOST)
                if not process.is_alive(former)
            ]
            for batch_id, _ in lost:
                transaction.execute(_TAKE_OVER, (owner, batch_id))
            return [_lost(transaction, batch_id, is_left=is_left) for batch_id, is_left in lost]

        return await self._db.transact(take)

    def close(self, lost: OrphanedBatch) -> list[TaskReport]:
        """End the rest of a batch in the next commit; return the tasks to report."""
        moment, why = isoformat(self._clock.now()), orjson.dumps(INTERRUPTED).decode()
        tasks = [_interrupted(task, moment) for task in lost.report.tasks]
        for task, former in zip(tasks, lost.report.tasks, strict=True):
            if task is not former:
                self._db.append(INTERRUPT_TASK, (why, moment, task.task_id))
        status = aggregate([task.status for task in tasks])
        self._db.append(END_BATCH, (status, moment, lost.report.batch_id))
        self._db.append(FORGET_PROGRESS, (lost.report.batch_id,))
        return [task for task in tasks if task.task_id in lost.begun]


def _interrupted(task: TaskReport, moment: str) -> TaskReport:
    if task.status in ENDED:
        return task
    return replace(task, status="interrupted", error=INTERRUPTED, finished_at=moment)


def _lost(transaction: Transaction, batch_id: str, *, is_left: bool) -> OrphanedBatch:
    row = transaction.fetch(f"{_BATCHES} WHERE id = ?", (batch_id,))[0]
    tasks = _tasks(transaction, batch_id)
    begun = frozenset(
        task.task_id
        for task in tasks
        if task.status not in ENDED and transaction.fetch(_RUN, (task.run_id,))
    )
    report = _batch_of(row, tasks)
    fingerprint, parent = transaction.fetch(_KEPT, (batch_id,))[0]
    found = transaction.fetch(_RUN, (report.parent_run_id,))
    parent_status = found[0][0] if found else None
    progress = dict(transaction.fetch(_PROGRESS, (batch_id,)))
    return OrphanedBatch(report, begun, is_left, fingerprint, parent, parent_status, progress)


def _find(transaction: Transaction, id_: str) -> BatchReport | None:
    rows = transaction.fetch(f"{_BATCHES} WHERE id = ?", (id_,))
    if rows:
        return _batch_of(rows[0], _tasks(transaction, id_))
    tasks = [_task_of(row) for row in transaction.fetch(f"{_TASKS} WHERE id = ?", (id_,))]
    if not tasks:
        return None
    row = transaction.fetch(f"{_BATCHES} WHERE id = ?", (tasks[0].batch_id,))[0]
    return _batch_of(row, tasks)


def _tasks(transaction: Transaction, batch_id: str) -> list[TaskReport]:
    rows = transaction.fetch(f"{_TASKS} WHERE batch_id = ? ORDER BY position", (batch_id,))
    return [_task_of(row) for row in rows]


def _task_row(task: SubagentTask, redactor: Redactor) -> tuple[Any, ...]:
    spec = redactor.secrets_in(asdict(task.spec))
    return (
        *(task.id, task.batch_id, task.run_id, task.position, spec["label"]),
        *(_json(spec), _json(dict(task.routes)), _json(dict(task.blocked))),
        *(task.status, dump_json(task.state()).decode()),
    )


def _batch_of(row: Sequence[Any], tasks: Sequence[TaskReport]) -> BatchReport:
    batch_id, session_id, parent_run_id, kind, name, background, status, created_at = row
    return BatchReport(
        batch_id=batch_id,
        session_id=session_id,
        kind=kind,
        name=name,
        status=status,
        background=bool(background),
        parent_run_id=parent_run_id,
        tasks=tuple(tasks),
        created_at=created_at,
    )


def _task_of(row: Sequence[Any]) -> TaskReport:
    (task_id, batch_id, run_id, label, spec, routes, blocked, status, state, error, *times) = row
    saved = orjson.loads(state)
    return TaskReport(
        task_id=task_id,
        batch_id=batch_id,
        run_id=run_id,
        label=label,
        goal=orjson.loads(spec)["goal"],
        status=status,
        response=saved["response"],
        partial=bool(saved["response"]) and status != "success",
        error=None if error is None else orjson.loads(error),
        rounds=saved["rounds"],
        model=saved["model"],
        usage=saved["usage"],
        calls=tuple(saved["calls"]),
        routes=orjson.loads(routes),
        blocked=orjson.loads(blocked),
        worker_pid=saved["worker_pid"],
        started_at=times[0],
        finished_at=times[1],
    )


def _json(value: Any) -> str | None:
    return None if value is None else dump_json(value).decode()
