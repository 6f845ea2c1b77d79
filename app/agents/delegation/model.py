"""What delegation works with: whose work it is, within which limits, and how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.agents.budget import Spending
from app.agents.delegation.worker_calls import WorkerCalls
from app.agents.sessions import Session
from app.execution.call import ToolCallBatch
from app.governance.agents import SubagentScope
from app.governance.limits import QuotaSubject
from app.toolkit.context import NOTHING, ReportProgress
from app.tools.delegation.ports import (
    ENDED,
    BatchKind,
    BatchReport,
    TaskReport,
    TaskSpec,
    TaskStatus,
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Of a run that delegates.

    Attributes:
        attended: somebody is there to confirm.
        outlives: it goes on in the next process, and so does the work that it waits for.
    """

    quota_subject: QuotaSubject
    attended: bool
    outlives: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Who delegates, and for whom.

    Attributes:
        run_id: of the run that delegates, which is a sub-agent's own where `depth` is not 0.
        model: settings of the calling conversation.
        depth: 0 for an agent, 1 for its sub-agent, …
        scope, roots, max_depth: what a delegating sub-agent itself may use, see and start; it
            gives no more. None for an agent.
        counted_run: whose limit of calls holds for all of it: the run of the agent.
        outlives: as in `Standing`.
        report: where the progress of the batch is told while somebody waits for it.
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
    """Within what a task is worked on: what was asked, held to what is allowed."""

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
        messages: what it and the model have said to each other.
        is_asking: the answer of the last of its rounds has not come yet.
        message_id: of the model's last answer.
        is_answered: that answer was its last word.
        unheard: what it was told since its last model request.
        goes_on: how far it is, is kept for the process that goes on with it after this one.
        is_left: it stops with the service, and the next process goes on with it.
        found: tools that it had found in the process before this one.
        tries: how often it was taken up after a crash since its calls last finished.
        began: on the monotonic clock, when this process began to work on it.
        spent_s: how long other processes had worked on it.
        own: where those of its calls run that need not leave its process.
        parked: calls of that answer, about which somebody was asked in the process before this
            one. They can be answered at once; they go on when the task does.
        stopped_as: how it ends when it is cancelled; somebody has decided that before.
        work: what brings it to its end; None until that has begun.
        ended: set when nothing about it changes any more.
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
        """Cancel it, unless it is over; it ends as `status`, soon. The first one who says so wins.

        What has not begun is not cancelled, since it would never get to its end: it sees
        `stopped_as` when it begins.
        """
        if self.is_over or self.stopped_as is not None:
            return
        self.stopped_as = status
        self.is_left = self.goes_on and status == "interrupted"
        if self.work is not None:
            self.work.cancel()

    @property
    def uses(self) -> list[dict[str, Any]]:
        """The calls that the model has asked for last, and that have no results yet."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            return []
        return [block for block in self.messages[-1]["content"] if block.get("type") == "tool_use"]

    def state(self) -> dict[str, Any]:
        """What changes while it runs, as it is stored."""
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
    """Tasks that were delegated together, while this process works on them.

    Attributes:
        kept: set once its rows are, or with why they cannot be.
        followers: how many calls wait for its end.
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
        """Somebody has stopped some of it, which may not have ended yet."""
        return any(task.stopped_as is not None for task in self.tasks)

    def named(self, id_: str) -> list[SubagentTask]:
        """All its tasks, or the one whose id it is."""
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
    """One word for all tasks of a batch."""
    if any(status not in ENDED for status in statuses):
        return "running"
    succeeded = statuses.count("success")
    if succeeded == len(statuses):
        return "success"
    if "cancelled" in statuses:
        return "cancelled"
    return "partial" if succeeded else "error"
