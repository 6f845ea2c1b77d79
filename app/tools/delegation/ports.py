"""What the delegation tools need: whoever starts sub-agents; the composition root binds it."""

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
    """What one sub-agent shall do. None leaves a limit to the settings; none may exceed them.

    Attributes:
        label: names it, once in its batch.
        agent_id: whose profile it works under; the caller's own when None.
        instructions: told before the goal, such as the role of a team's member.
        tools: names of the tools that it may use at most; None for all that sub-agents may.
        workspace_roots: folders of the workspace, relative to it, that it sees; empty for all.
        timeout_s: for the whole task.
        after: labels of the tasks whose answers it is given, and waits for.
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
    """How far a sub-agent is.

    Attributes:
        response: its answer; what there is of one while `partial`.
        error: `{code, message}` of what ended it, unless it has succeeded.
        calls: `{tool, status, route}` of each call so far.
        routes: tool → `worker-local` | `main-process-proxy` | `disabled`.
        blocked: tool → `{code, message, layer, fix}` of those that are disabled.
        worker_pid: the process that runs its loop; None before it has one.
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
    """A batch and its tasks, in the order they were given.

    Attributes:
        status: `running` until every task has ended, then `success` when all have succeeded,
            `partial` when some have, else `error`; `cancelled` when somebody stopped it.
        parent_run_id: of the run that has delegated.
        duplicate: this batch had been started already, a moment ago, with the same words.
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
        """It; asked for one of its tasks, with that task alone."""
        if self.batch_id == id_:
            return self
        return replace(self, tasks=tuple(task for task in self.tasks if task.task_id == id_))


@runtime_checkable
class Delegation(Protocol):
    """The service `DELEGATION`: starts sub-agents and knows what became of them."""

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
        """Run a batch to its end, or only begin it in the `background`.

        Cancelling the caller cancels the whole batch, unless it is in the background.

        Raises:
            InvalidInput: a label is there twice; `after` names none or turns in a circle; a
                tool, a folder, an agent does not exist; too many tasks. Names the field.
            ToolFailed: `delegation_depth` when a sub-agent may not delegate (any more);
                `too_many_subagents` when the session has as many in the background as it may.
        """

    async def report(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """How far a batch is; of a task, its batch with that task alone.

        Args:
            session_id: only what belongs to this session; None for any.

        Raises:
            NotFound: there is no such batch or task.
        """

    async def reports(
        self,
        *,
        session_id: str | None,
        run_id: str | None = None,
        running: bool = False,
        limit: int = 50,
    ) -> list[BatchReport]:
        """The newest first; of those that one run has delegated, where it is named."""

    async def wait(
        self, batch_or_task_id: str, *, session_id: str | None, timeout_s: float
    ) -> BatchReport:
        """As `report`, once it has ended or after `timeout_s`."""

    async def cancel(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        """Stop a batch, or one task; what it had done so far stays. Harmless when it is over."""

    async def broadcast(
        self, text: str, *, session_id: str, batch_id: str | None = None
    ) -> list[str]:
        """Tell every running sub-agent of the session, once each; the ids of those tasks.

        It reads it before its next model request.
        """

    def left_by(self, operation_id: str) -> str | None:
        """The batch a call has delegated, while the service stops and leaves it to the next."""
