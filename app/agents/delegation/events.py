"""Events of sub-agents in the delegating agent's session: start and end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from app.agents.cleanup import OrphanCloser, unended
from app.agents.delegation.model import Parent, SubagentTask, TaskBatch
from app.agents.orphaned_runs import Trail
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.core.text import truncate
from app.db.statements import ADD_RUN, FINISH_RUN, PARK_RUN
from app.db.writer import DatabaseWriter
from app.domain.delegation import TaskReport, TaskStatus
from app.events.durable import RunResumed, RunStatus, SubagentFinished, SubagentStarted
from app.events.log import SessionLog
from app.execution.deferred_tools import DeferredTools
from app.execution.limits.store import LimitStore
from app.governance.grants import GrantStore

SHOWN_CHARS = 8000
_RUN_STATUS: dict[TaskStatus, RunStatus] = {
    "success": "success",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "max_rounds": "max_turns",
}


class TaskEvents:
    """Records what happens to sub-agents: their runs, events and counters."""

    def __init__(
        self,
        db: DatabaseWriter,
        redactor: Redactor,
        deferred: DeferredTools,
        limits: LimitStore,
        grants: GrantStore,
        metrics: Metrics,
        closer: OrphanCloser,
    ) -> None:
        self._db = db
        self._redactor = redactor
        self._deferred = deferred
        self._limits = limits
        self._grants = grants
        self._metrics = metrics
        self._closer = closer

    def started(self, task: SubagentTask, parent: Parent, owner: str) -> None:
        """Record the start: a run of the sub-agent, and an event in the delegating session."""
        log = parent.session.log
        log.holders.add(task.run_id)
        self._deferred.narrow(task.run_id, task.limits.scope)
        row = (
            *(task.run_id, parent.session.id, "delegation", "running", task.limits.agent_id),
            *(task.limits.model, parent.run_id, owner, task.started_at),
        )
        self._db.append(ADD_RUN, row)
        mask = self._redactor.text
        log.emit(
            SubagentStarted,
            **_ids(parent),
            child_run_id=task.run_id,
            name=mask(task.spec.label),
            task=truncate(mask(task.spec.goal), SHOWN_CHARS),
            task_id=task.id,
            batch_id=task.batch_id,
            model=task.limits.model,
            worker_pid=task.worker_pid,
            tool_runtime_routes=dict(task.routes),
            blocked={name: reason["code"] for name, reason in task.blocked.items()},
        )

    def taken_up(self, task: SubagentTask, parent: Parent) -> None:
        """Mark the task as continued in this process."""
        parent.session.log.holders.add(task.run_id)
        self._deferred.narrow(task.run_id, task.limits.scope)
        self._deferred.reveal(task.run_id, task.found)

    def resumed(self, task: SubagentTask, parent: Parent, trail: Trail) -> None:
        """Report the calls that were active in the previous process."""
        log = parent.session.log
        log.emit(
            RunResumed,
            run_id=task.run_id,
            agent_id=task.limits.agent_id,
            parent_tool_call_id=parent.tool_call_id,
            interrupted=[event["tool_call_id"] for event in unended(trail)],
        )
        self._closer.close_open(log, trail)

    def left(self, task: SubagentTask) -> None:
        """Leave the task to the next process."""
        self._db.append(PARK_RUN, (task.run_id,))
        self._limits.run_ended(task.run_id)
        self._deferred.forget(task.run_id)

    def ended(self, task: SubagentTask, parent: Parent) -> None:
        """Record the end of a started task.

        Raises:
            StorageUnavailable: the database accepts no more writes; nothing was recorded.
        """
        status = run_status(task.status)
        usage = task.spending.fields()
        error = self._redacted_error(task.error)
        row = (
            *(status, None, None if error is None else orjson.dumps(error).decode()),
            *(orjson.dumps(usage).decode(), task.finished_at, task.run_id),
        )
        self._db.append(FINISH_RUN, row)
        parent.session.log.emit(
            SubagentFinished,
            **_ids(parent),
            child_run_id=task.run_id,
            status=status,
            summary=truncate(self._redactor.text(task.response), SHOWN_CHARS) or None,
            name=self._redactor.text(task.spec.label),
            task_id=task.id,
            batch_id=task.batch_id,
            error=error,
            rounds=task.rounds,
            usage=usage,
        )

    def released(self, task: SubagentTask) -> None:
        """Release a task whose work has ended, even if that cannot be stored."""
        self._grants.end_run(task.run_id)
        self._limits.run_ended(task.run_id)
        self._deferred.forget(task.run_id)

    def lost(self, log: Any, run_id: str | None, task: TaskReport) -> None:
        """Like `ended`, for a task of a previous process."""
        log.emit(
            SubagentFinished,
            run_id=run_id,
            child_run_id=task.run_id,
            status="interrupted",
            summary=truncate(self._redactor.text(task.response), SHOWN_CHARS) or None,
            name=self._redactor.text(task.label),
            task_id=task.task_id,
            batch_id=task.batch_id,
            error=self._redacted_error(task.error),
            rounds=task.rounds,
            usage=dict(task.usage),
        )

    def orphan_closed(self, log: SessionLog, run_id: str, trail: Trail) -> None:
        """Close the run of a task that does not continue; `lost` reports its end."""
        self._closer.close_delegated(log, run_id, trail)

    def batch_ended(self, batch: TaskBatch) -> None:
        """Count a batch whose tasks have ended."""
        self._metrics.count("delegations", batch.report().status)
        counted = batch.parent.counted_run
        if counted is not None and counted not in batch.parent.session.log.holders:
            self._limits.run_ended(counted)  # the run itself was over before

    def _redacted_error(self, error: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if not error:
            return None
        redacted: dict[str, Any] = self._redactor.secrets_in({**error, "retryable": False})
        return redacted


def run_status(status: TaskStatus) -> RunStatus:
    """Return the run status for a task's end."""
    return _RUN_STATUS.get(status, "error")


def _ids(parent: Parent) -> dict[str, Any]:
    ids = {
        "run_id": parent.run_id,
        "agent_id": parent.agent_id,
        "parent_tool_call_id": parent.tool_call_id,
        "operation_id": parent.operation_id,
    }
    return {name: value for name, value in ids.items() if value}
