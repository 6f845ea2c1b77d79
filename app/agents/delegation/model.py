"""What delegation works with: whose work it is, within which terms, and how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.agents.budget import Spending
from app.agents.sessions import Session
from app.governance.agents import SubagentScope
from app.governance.limits import Payer
from app.toolkit.context import NOTHING, ReportProgress
from app.tools.delegation.ports import (
    ENDED,
    BatchKind,
    BatchReport,
    TaskReport,
    TaskSpec,
    TaskStatus,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Who delegates, and for whom.

    Attributes:
        run_id: of the run that delegates, which is a sub-agent's own where `depth` is not 0.
        model: settings of the calling conversation.
        depth: 0 for an agent, 1 for its sub-agent, …
        scope, roots: what a delegating sub-agent itself may use and see; it gives no more.
        report: where the progress of the batch is told while somebody waits for it.
    """

    session: Session
    run_id: str | None
    agent_id: str | None
    tool_call_id: str
    operation_id: str
    project_id: str | None
    payer: Payer
    attended: bool
    model: Mapping[str, Any]
    business: Mapping[str, Any]
    depth: int = 0
    scope: SubagentScope | None = None
    roots: tuple[str, ...] = ()
    report: ReportProgress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Within what a task is worked on: what was asked, held to what is allowed."""

    agent_id: str | None
    model: str
    max_tokens: int
    temperature: float | None
    max_rounds: int
    timeout_s: float
    scope: SubagentScope
    roots: tuple[str, ...]
    last_round_without_tools: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Task:
    """One sub-agent, while this process works on it.

    Attributes:
        unheard: what it was told since its last model request.
        stopped_as: how it ends when it is cancelled; somebody has decided that before.
        ended: set when nothing about it changes any more.
    """

    id: str
    batch_id: str
    run_id: str
    position: int
    spec: TaskSpec
    terms: Terms
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
    unheard: list[str] = field(default_factory=list)
    stopped_as: TaskStatus | None = None
    work: asyncio.Task[None] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    def state(self) -> dict[str, Any]:
        """What changes while it runs, as it is stored."""
        return {
            "response": self.response,
            "rounds": self.rounds,
            "usage": self.spending.fields(),
            "calls": self.calls,
            "worker_pid": self.worker_pid,
            "model": self.terms.model,
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
            model=self.terms.model,
            usage=self.spending.fields(),
            calls=tuple(self.calls),
            routes=self.routes,
            blocked=self.blocked,
            worker_pid=self.worker_pid,
            started_at=self.started_at,
            finished_at=self.finished_at,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Batch:
    """Tasks that were delegated together, while this process works on them."""

    id: str
    kind: BatchKind
    name: str
    parent: Parent
    background: bool
    fingerprint: str
    concurrency: int
    tasks: list[Task]
    created_at: str
    began: float
    finished_at: str | None = None
    work: asyncio.Task[None] | None = None

    def labelled(self, label: str) -> Task:
        return next(task for task in self.tasks if task.spec.label == label)

    def report(self, *, duplicate: bool = False) -> BatchReport:
        return BatchReport(
            batch_id=self.id,
            session_id=self.parent.session.id,
            kind=self.kind,
            name=self.name,
            status=aggregate([task.status for task in self.tasks]),
            background=self.background,
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
