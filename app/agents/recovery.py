"""Recovery after a crash or stop: continues runs if possible, closes the others.

A started call may have taken effect and is never run again. A run with an open confirmation is not
over: it is handed over with everything needed to continue. So is a model's run with stored progress
(`restart_policy.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

from app.agents.cleanup import OrphanCloser
from app.agents.orphaned_runs import LastTurn, OrphanedRun, RunHead, Trail, read_lost
from app.agents.progress import RunProgress
from app.agents.restart_policy import CLOSING, MOST_TRIES, RestartPolicy
from app.core import process
from app.core.clock import Clock, isoformat
from app.core.errors import TollgateError
from app.core.text import dump_json
from app.db.event_blocks import head_of
from app.db.statements import ADD_ENTRY, FINISH_RUN, MOVE_LEAF, START_QUEUED
from app.db.writer import DatabaseWriter, Transaction
from app.events.durable import MessageCompleted, RunFinished, RunStarted, Trigger
from app.events.log import EventLog
from app.execution.batches import SuspendedBatch

_RUNNING = (
    "SELECT r.id, r.session_id, r.owner, s.epoch, s.user_id, r.trigger, r.agent_id,"
    " r.started_at, s.leaf_entry_id, r.input, r.progress"
    " FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'running'"
)
_QUEUED = (
    "SELECT r.id, r.session_id, r.owner, s.epoch, s.leaf_entry_id, r.agent_id, r.model, r.input,"
    " r.started_at FROM runs r JOIN sessions s ON s.id = r.session_id"
    " WHERE r.status = 'queued'"
)
DELEGATED = "delegation"
_TAKE_OVER = "UPDATE runs SET owner = ? WHERE id = ?"
_GOES_ON = (
    "SELECT 1 FROM delegated_tasks t JOIN delegation_batches b ON b.id = t.batch_id"
    " WHERE t.run_id = ? AND t.progress IS NOT NULL AND b.status = 'running'"
)
_TRY_AGAIN = "UPDATE runs SET progress = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class FoundRun:
    """Run left by another process that may continue."""

    id: str
    session_id: str
    trigger: Trigger
    agent_id: str | None
    started_at: str
    trail: Trail


@dataclass(frozen=True, slots=True)
class SuspendedRun(FoundRun):
    """Run with an open confirmation when its process ended."""

    batch: SuspendedBatch

    @property
    def usage(self) -> dict[str, Any] | None:
        """Return its usage so far, which counts whichever process ends it."""
        return self.batch.progress.get("usage")


@dataclass(frozen=True, slots=True)
class CutRun(FoundRun):
    """Run that was active when its process ended."""

    progress: RunProgress
    turn: LastTurn

    @property
    def usage(self) -> dict[str, Any] | None:
        """Return its usage so far, which counts whichever process ends it."""
        return self.progress.usage


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """Message that waits for its turn."""

    run_id: str
    session_id: str
    agent_id: str | None
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recovered:
    """Result of the recovery: closed runs, and runs to continue.

    Attributes:
        delegated: runs of sub-agents; delegation decides whether they continue.
    """

    closed: int = 0
    suspended: tuple[SuspendedRun, ...] = ()
    cut: tuple[CutRun, ...] = ()
    waiting: tuple[WaitingMessage, ...] = ()
    delegated: tuple[FoundRun, ...] = ()


class RunRecovery:
    """Takes over the runs of ended processes, and closes those that cannot continue."""

    def __init__(
        self, db: DatabaseWriter, events: EventLog, clock: Clock, closer: OrphanCloser
    ) -> None:
        self._db = db
        self._events = events
        self._clock = clock
        self._closer = closer

    async def recover(self, restart_policy: RestartPolicy = CLOSING) -> Recovered:
        """Take over the runs of ended processes, and close those that cannot continue."""
        owner = process.identity()

        def take_over(transaction: Transaction) -> list[OrphanedRun]:
            rows = [
                row for row in transaction.fetch(_RUNNING) if not process.is_alive(row[2] or "")
            ]
            lost = [RunHead(*(*row, head_of(transaction.fetch, row[1], row[3]))) for row in rows]
            return [_take_over(transaction, row, restart_policy, owner) for row in lost]

        lost = await self._db.transact(take_over)
        own = [run for run in lost if run.row.trigger != DELEGATED]
        suspended = tuple(_suspended(run, run.batch) for run in own if run.batch is not None)
        cut = tuple(
            _cut(run, run.progress)
            for run in own
            if run.batch is None and run.progress is not None and run.progress.tries <= MOST_TRIES
        )
        delegated = tuple(_delegated(run) for run in lost if run.is_delegated)
        going_on = {run.id for run in (*suspended, *cut, *delegated)}
        closed = [run for run in lost if run.row.id not in going_on]
        for run in closed:
            self._close(run)
        stay = None if restart_policy.continues else {run.session_id for run in suspended}
        kept, waiting = await self._keep_waiting(stay, owner)
        await self._db.flush()
        for session_id in {run.row.session_id for run in closed} | {row[1] for row in kept}:
            self._events.release(session_id)
        return Recovered(len(closed) + len(kept), suspended, cut, waiting, delegated)

    def _close(self, run: OrphanedRun) -> None:
        row, progress = run.row, run.progress
        error = None
        if progress is not None:
            error = TollgateError(
                f"The service stopped {progress.tries} times during one step of this run; it is "
                "not continued again"
            )
        usage = progress.usage if progress else None
        log = self._events.open(row.session_id, row.epoch, row.head)
        if row.trigger == DELEGATED:
            self._closer.close_delegated(log, row.id, run.trail)
            return
        self._closer.close_run(log, row.id, run.trail, usage=usage, error=error)

    async def _keep_waiting(
        self, stay: set[str] | None, owner: str
    ) -> tuple[list[tuple[Any, ...]], tuple[WaitingMessage, ...]]:
        """Return accepted but unstarted messages, and those that continue to wait.

        In sessions outside `stay` they remain unanswered; with None, all continue to wait.
        """

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            rows = [r for r in transaction.fetch(_QUEUED) if not process.is_alive(r[2] or "")]
            for row in rows:
                transaction.execute(_TAKE_OVER, (owner, row[0]))
            rows.sort(key=lambda row: (row[8], orjson.loads(row[7]).get("place", 0)))
            return [(*row, head_of(transaction.fetch, row[1], row[3])) for row in rows]

        rows = await self._db.transact(read)
        waiting = tuple(
            WaitingMessage(row[0], row[1], row[5], orjson.loads(row[7]))
            for row in rows
            if stay is None or row[1] in stay
        )
        kept = [row for row in rows if stay is not None and row[1] not in stay]
        leaves: dict[str, str | None] = {}
        for row in kept:
            self._tell_unanswered(row, leaves)
        return kept, waiting

    def _tell_unanswered(self, row: tuple[Any, ...], leaves: dict[str, str | None]) -> None:
        run_id, session_id, _, epoch, leaf, agent_id, model, stored, _, head = row
        log = self._events.open(session_id, epoch, head)
        message = orjson.loads(stored)
        moment = isoformat(self._clock.now())
        message_id, content = message["message_id"], message["content"]
        parent = leaves.get(session_id, leaf)
        leaves[session_id] = message_id
        self._db.append(START_QUEUED, (moment, run_id))
        encoded = dump_json(content).decode()
        entry = (message_id, session_id, parent, run_id, "user", encoded, moment)
        self._db.append(ADD_ENTRY, entry)
        self._db.append(MOVE_LEAF, (message_id, moment, session_id))
        self._db.append(FINISH_RUN, ("interrupted", None, None, "{}", moment, run_id))
        ids = {"run_id": run_id, "agent_id": agent_id}
        log.emit(RunStarted, **ids, trigger="message", model=model)
        log.emit(
            MessageCompleted,
            **ids,
            message_id=message_id,
            role="user",
            content=content,
            client_message_id=message["client_message_id"],
        )
        log.emit(RunFinished, **ids, status="interrupted")


def _take_over(
    transaction: Transaction, row: RunHead, restart_policy: RestartPolicy, owner: str
) -> OrphanedRun:
    transaction.execute(_TAKE_OVER, (owner, row.id))
    if row.trigger == DELEGATED:
        goes_on = restart_policy.continues and bool(transaction.fetch(_GOES_ON, (row.id,)))
        # The waiter of the sub-agent has ended, so its questions are obsolete.
        lost = read_lost(transaction, row if goes_on else replace(row, batch=None), None)
        return replace(lost, is_delegated=goes_on)
    lost = read_lost(transaction, row, restart_policy.progress_of(row.progress))
    if lost.batch is not None or lost.progress is None or row.owner is None:
        return lost
    # Its process crashed: possibly because of this step.
    progress = lost.progress.tried_again()
    transaction.execute(_TRY_AGAIN, (progress.stored(), row.id))
    return replace(lost, progress=progress)


def _suspended(run: OrphanedRun, batch: SuspendedBatch) -> SuspendedRun:
    return SuspendedRun(*_found(run.row), run.trail, batch)


def _cut(run: OrphanedRun, progress: RunProgress) -> CutRun:
    return CutRun(*_found(run.row), run.trail, progress, run.turn)


def _delegated(run: OrphanedRun) -> FoundRun:
    if run.batch is not None:
        return _suspended(run, run.batch)
    return FoundRun(*_found(run.row), run.trail)


def _found(row: RunHead) -> tuple[str, str, Trigger, str | None, str]:
    return row.id, row.session_id, cast("Trigger", row.trigger), row.agent_id, row.started_at
