"""Calls of sub-agents, through the same executor as everyone's."""

from __future__ import annotations

from app.agents.delegation.call_context import context_of
from app.agents.delegation.model import Parent, SubagentTask
from app.core.redaction import Redactor
from app.execution.batches import SuspendedBatch
from app.execution.call import ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.context import Project
from app.execution.executor import Executor
from app.execution.outcome import CallOutcome
from app.execution.suspension import RunSuspension

Finished = dict[str, CallOutcome]
"""Call ID → outcome, filled as the calls end."""


class TaskCalls:
    """Runs, resumes and leaves the calls of sub-agents; has no state between calls."""

    def __init__(self, executor: Executor, suspension: RunSuspension, redactor: Redactor) -> None:
        self._executor = executor
        self._suspension = suspension
        self._redactor = redactor

    async def run(
        self,
        task: SubagentTask,
        parent: Parent,
        project: Project | None,
        requests: list[CallRequest],
        finished: Finished,
    ) -> None:
        """Run the calls of a round; see `Executor.run`."""
        context = context_of(self._redactor, task, parent, project)
        await self._executor.run(requests, context, finished=finished)

    async def resume(self, batch: ToolCallBatch, finished: Finished) -> None:
        """Continue calls that waited for a person when the service stopped."""
        await self._executor.resume(batch, finished)

    def rebuild(
        self, task: SubagentTask, parent: Parent, project: Project | None, left: SuspendedBatch
    ) -> ToolCallBatch:
        """Return calls of an ended process, whose questions can be answered from now on."""
        return self._executor.rebuild(left, context_of(self._redactor, task, parent, project))

    def abandon(self, batch: ToolCallBatch) -> None:
        """End rebuilt calls that were not continued."""
        self._executor.abandon(batch)

    def suspend(self, task: SubagentTask) -> None:
        """Leave the open questions of a task to the next process."""
        self._suspension.suspend(task.run_id)

    def is_suspended(self, task: SubagentTask) -> bool:
        return self._suspension.is_suspended(task.run_id)

    def forget(self, task: SubagentTask) -> None:
        """Drop the open questions of a task that is closed as a whole."""
        self._suspension.forget(task.run_id)
