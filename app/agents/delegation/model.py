"""Domain model of delegation: parents, limits, tasks and batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.agents.budget import Spending
from app.agents.delegation.worker_calls import WorkerCalls
from app.agents.sessions import Session
from app.domain.delegation import (
    ENDED,
    BatchKind,
    BatchReport,
    TaskReport,
    TaskSpec,
    TaskStatus,
)
from app.execution.call import ToolCallBatch
from app.governance.agents import SubagentScope
from app.governance.limits import QuotaSubject
from app.toolkit.context import NOTHING, ReportProgress


@dataclass(frozen=True, slots=True)
class Standing:
    """State of a delegating run.

    Attributes:
        attended: a client can answer confirmations.
        outlives: the next process continues it, including the work it waits for.
    """

    quota_subject: QuotaSubject
    attended: bool
    outlives: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Delegating agent, and its user.

    Attributes:
        run_id: ID of the delegating run; a sub-agent's run if `depth` is not 0.
        model: settings of the calling conversation.
        depth: 0 for an agent, 1 for its sub-agent, …
        scope, roots, max_depth: rights of a delegating sub-agent, which limit those it gives. None
            for an agent.
        counted_run: run whose limit of calls applies: the original agent's.
        outlives: as in `Standing`.
        report: receiver of the batch's progress while a caller waits.
    """

    session: Session
    run_id: str | None
    agent_id: str | None
    tool_call_id: str
    operation_id: str
    project_id: str | None
    quota_subject: QuotaSubject
    attended: bool
    model: Mapping[str, Any]
    business: Mapping[str, Any]
    depth: int = 0
    scope: SubagentScope | None = None
    roots: tuple[str, ...] = ()
    max_depth: int | None = None
    counted_run: str | None = None
    outlives: bool = False
    report: ReportProgress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """Limits of a task: the requested ones, restricted to what is allowed."""

    agent_id: str | None
    model: str
    max_tokens: int
    temperature: float | None
    max_rounds: int
    timeout_s: float
    scope: SubagentScope
    roots: tuple[str, ...]
    max_depth: int
    last_round_without_tools: bool


@dataclass(slots=True, kw_only=True, eq=False)
class SubagentTask:
    """One sub-agent, while this process works on it.

    Attributes:
        messages: conversation between the sub-agent and the model.
        is_asking: the response of its last round is pending.
        message_id: ID of the model's last response.
        is_answered: that response was final.
        unheard: messages received since its last model request.
        goes_on: its progress is stored for the next process.
        is_left: it stops with the service, and the next process continues it.
        found: tools that it had found in the previous process.
        tries: restarts after a crash since its calls last finished.
        began: start in this process, on the monotonic clock.
        spent_s: seconds of work in other processes.
        own: runs calls that stay in its own process.
        parked: calls of that response that asked for confirmation in the previous process. They can
            be answered immediately, and continue with the task.
        stopped_as: predetermined status if it is cancelled.
        work: asyncio task that runs it; None before the start.
        ended: set once nothing changes any more.
    """

    id: str
    batch_id: str
    run_id: str
    position: int
    spec: TaskSpec
    limits: TaskLimits
    routes: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    blocked: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    status: TaskStatus = "waiting"
    response: str = ""
    error: dict[str, Any] | None = None
    rounds: int = 0
    spending: Spending = field(default_factory=Spending)
    calls: list[dict[str, Any]] = field(default_factory=list)
    worker_pid: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    is_asking: bool = False
    message_id: str = ""
    is_answered: bool = False
    unheard: list[str] = field(default_factory=list)
    goes_on: bool = False
    is_left: bool = False
    found: tuple[str, ...] = ()
    tries: int = 0
    began: float | None = None
    spent_s: float = 0.0
    own: WorkerCalls = field(default_factory=WorkerCalls)
    suspended: ToolCallBatch | None = None
    stopped_as: TaskStatus | None = None
    work: asyncio.Task[None] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    def stop(self, status: TaskStatus) -> None:
        """Cancel the task unless it has ended; it soon ends as `status`. The first status wins.

        An unstarted task is not cancelled, since its end would never be recorded: it checks
        `stopped_as` at its start.
        """
        if self.is_over or self.stopped_as is not None:
            return
        self.stopped_as = status
        self.is_left = self.goes_on and status == "interrupted"
        if self.work is not None:
            self.work.cancel()

    @property
    def uses(self) -> list[dict[str, Any]]:
        """Return the calls in the model's last response without results."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            return []
        return [block for block in self.messages[-1]["content"] if block.get("type") == "tool_use"]

    def state(self) -> dict[str, Any]:
        """Changing state of a task, as stored."""
        return {
            "response": self.response,
            "rounds": self.rounds,
            "usage": self.spending.fields(),
            "calls": self.calls,
            "worker_pid": self.worker_pid,
            "model": self.limits.model,
        }

    def report(self) -> TaskReport:
        return TaskReport(
            task_id=self.id,
            batch_id=self.batch_id,
            run_id=self.run_id,
            label=self.spec.label,
            goal=self.spec.goal,
            status=self.status,
            response=self.response,
            partial=bool(self.response) and self.status != "success",
            error=self.error,
            rounds=self.rounds,
            model=self.limits.model,
            usage=self.spending.fields(),
            calls=tuple(self.calls),
            routes=self.routes,
            blocked=self.blocked,
            worker_pid=self.worker_pid,
            started_at=self.started_at,
            finished_at=self.finished_at,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class TaskBatch:
    """Tasks delegated together, while this process works on them.

    Attributes:
        kept: resolved once its rows are stored, or with the error.
        followers: number of calls that wait for its end.
    """

    id: str
    kind: BatchKind
    name: str
    parent: Parent
    background: bool
    fingerprint: str
    concurrency: int
    tasks: list[SubagentTask]
    created_at: str
    began: float
    kept: asyncio.Future[None]
    finished_at: str | None = None
    followers: int = 0
    work: asyncio.Task[None] | None = None

    @property
    def is_stopped(self) -> bool:
        """Return whether part of it was stopped; that part may not have ended yet."""
        return any(task.stopped_as is not None for task in self.tasks)

    def named(self, id_: str) -> list[SubagentTask]:
        """Return all tasks, or the one with the ID."""
        return [task for task in self.tasks if id_ in (self.id, task.id)]

    def labelled(self, label: str) -> SubagentTask:
        return next(task for task in self.tasks if task.spec.label == label)

    def report(self, *, duplicate: bool = False) -> BatchReport:
        return BatchReport(
            batch_id=self.id,
            session_id=self.parent.session.id,
            kind=self.kind,
            name=self.name,
            status=aggregate([task.status for task in self.tasks]),
            background=self.background,
            parent_run_id=self.parent.run_id,
            tasks=tuple(task.report() for task in self.tasks),
            created_at=self.created_at,
            duplicate=duplicate,
        )


def aggregate(statuses: list[TaskStatus]) -> Any:
    """Return the combined status of a batch's tasks."""
    if any(status not in ENDED for status in statuses):
        return "running"
    succeeded = statuses.count("success")
    if succeeded == len(statuses):
        return "success"
    if "cancelled" in statuses:
        return "cancelled"
    return "partial" if succeeded else "error"
