"""Delegated tasks, their reports and their service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from app.toolkit.context import NOTHING, ToolContext

DELEGATION = "delegation"

BatchKind = Literal["task", "parallel", "multi_agent", "team", "escalation"]
TaskStatus = Literal[
    "waiting",
    "running",
    "success",
    "error",
    "cancelled",
    "timeout",
    "max_rounds",
    "interrupted",
    "skipped",
]
ENDED: frozenset[TaskStatus] = frozenset(
    ("success", "error", "cancelled", "timeout", "max_rounds", "interrupted", "skipped")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Task of one sub-agent. Limits of None use the settings; no limit may exceed them.

    Attributes:
        label: name, unique in its batch.
        agent_id: agent whose profile it uses; the caller's own if None.
        instructions: text before the goal, such as the role of a team member.
        tools: names of allowed tools; None for all that sub-agents may use.
        workspace_roots: visible folders, relative to the workspace; empty for all.
        timeout_s: seconds for the whole task.
        after: labels of the tasks that it waits for and whose answers it receives.
    """

    goal: str
    label: str
    agent_id: str | None = None
    instructions: str = ""
    tools: tuple[str, ...] | None = None
    read_only: bool = False
    no_shell: bool = False
    workspace_roots: tuple[str, ...] = ()
    model: str | None = None
    max_rounds: int | None = None
    timeout_s: float | None = None
    last_round_without_tools: bool = False
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """Progress of a sub-agent.

    Attributes:
        response: its answer; incomplete if `partial`.
        error: `{code, message}` of its failure, unless it has succeeded.
        calls: `{tool, status, route}` of each call so far.
        routes: tool → `worker-local` | `main-process-proxy` | `disabled`.
        blocked: tool → `{code, message, layer, fix}` of the disabled tools.
        worker_pid: process that runs its loop; None before the start.
    """

    task_id: str
    batch_id: str
    run_id: str
    label: str
    goal: str
    status: TaskStatus
    response: str = ""
    partial: bool = False
    error: Mapping[str, Any] | None = None
    rounds: int = 0
    model: str | None = None
    usage: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    calls: Sequence[Mapping[str, Any]] = ()
    routes: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    blocked: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    worker_pid: int | None = None
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """Batch with its tasks, in the given order.

    Attributes:
        status: `running` until every task has ended, then `success` if all have succeeded,
            `partial` if some have, otherwise `error`; `cancelled` if it was stopped.
        parent_run_id: ID of the delegating run.
        duplicate: an equal batch was started shortly before; this is that one.
    """

    batch_id: str
    session_id: str
    kind: BatchKind
    name: str
    status: Literal["running", "success", "partial", "error", "cancelled"]
    background: bool
    tasks: tuple[TaskReport, ...]
    created_at: str
    parent_run_id: str | None = None
    duplicate: bool = False

    def about(self, id_: str) -> BatchReport:
        """Return the report; for a task's ID, with only that task."""
        if self.batch_id == id_:
            return self
        return replace(self, tasks=tuple(task for task in self.tasks if task.task_id == id_))


@runtime_checkable
class Delegation(Protocol):
    """Service `DELEGATION`: starts sub-agents and reports their results."""

    async def start(
        self,
        specs: Sequence[TaskSpec],
        ctx: ToolContext,
        *,
        kind: BatchKind,
        name: str = "",
        concurrency: int | None = None,
        background: bool = False,
    ) -> BatchReport:
        """Run a batch to its end, or start it in the `background`.

        Cancelling the caller cancels the whole batch, unless it is in the background.

        Raises:
            InvalidInput: a label is duplicate; `after` is unknown or cyclic; a tool, folder or
                agent does not exist; too many tasks. Names the field.
            ToolFailed: `delegation_depth` if a sub-agent may not delegate (further);
                `too_many_subagents` if the session has reached its limit in the background.
        """

    async def report(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """Return the progress of a batch; for a task, its batch with only that task.

        Args:
            session_id: restrict to this session; None for any.

        Raises:
            NotFound: the batch or task does not exist.
        """

    async def reports(
        self,
        *,
        session_id: str | None,
        run_id: str | None = None,
        running: bool = False,
        limit: int = 50,
    ) -> list[BatchReport]:
        """Return reports, newest first, optionally of one delegating run."""

    async def wait(
        self, batch_or_task_id: str, *, session_id: str | None, timeout_s: float
    ) -> BatchReport:
        """Return the report once it has ended or after `timeout_s`; see `report`."""

    async def cancel(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """Stop a batch or one task; results so far stay. No effect if it has ended."""

    async def broadcast(
        self, text: str, *, session_id: str, batch_id: str | None = None
    ) -> list[str]:
        """Send a message to every running sub-agent of the session; return the IDs of their tasks.

        A sub-agent receives it before its next model request.
        """

    def left_by(self, operation_id: str) -> str | None:
        """Return the batch of a call, if a stopping service leaves it to the next process."""
