"""A `Delegation` in memory: sub-agents that answer what a script says, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.errors import InvalidInput, NotFound
from app.domain.delegation import (
    ENDED,
    BatchKind,
    BatchReport,
    Delegation,
    TaskReport,
    TaskSpec,
    TaskStatus,
)
from app.toolkit.context import ToolContext

MAX_TASKS = 5
MOMENT = "2026-11-21T09:30:00.000Z"
# What a sub-agent comes to, given its task and the answers of those before it.
Script = Callable[[TaskSpec, Mapping[str, str]], "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What the script lets become of a task."""

    response: str = ""
    status: TaskStatus = "success"
    error: Mapping[str, Any] | None = None


def failing(message: str, code: str = "model_failed", said: str = "") -> Outcome:
    """A sub-agent that has failed after it said something."""
    return Outcome(said, "error", {"code": code, "message": message})


def echo(spec: TaskSpec, _: Mapping[str, str]) -> Outcome:
    """Answer with the task itself."""
    return Outcome(f"did: {spec.goal}")


@dataclass
class Started:
    """One call of `start`."""

    specs: Sequence[TaskSpec]
    kind: BatchKind
    name: str
    concurrency: int | None
    background: bool


@dataclass
class ScriptedDelegation:
    """Tasks in the background stay at work until `finish`; all others end within `start`."""

    script: Script = echo
    started: list[Started] = field(default_factory=list)
    batches: dict[str, BatchReport] = field(default_factory=dict)
    heard: dict[str, list[str]] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)

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
        _check(specs)
        twin = self._twin(specs, ctx)
        if twin is not None:
            return replace(twin, duplicate=True)
        self.started.append(Started(specs, kind, name, concurrency, background))
        batch_id = f"dlg_{len(self.batches) + 1}"
        batch = BatchReport(
            batch_id=batch_id,
            session_id=str(ctx.session_id),
            kind=kind,
            name=name,
            status="running",
            background=background,
            parent_run_id=ctx.run_id,
            tasks=tuple(_waiting(spec, batch_id, at) for at, spec in enumerate(specs, 1)),
            created_at=MOMENT,
        )
        self.batches[batch_id] = batch
        return batch if background else self.finish(batch_id, specs)

    def finish(self, batch_id: str, specs: Sequence[TaskSpec]) -> BatchReport:
        """Let every task of a batch come to what the script says, each after those it needs."""
        answers: dict[str, str] = {}
        ended: dict[str, TaskReport] = {}
        reports = {task.label: task for task in self.batches[batch_id].tasks}
        while len(ended) < len(specs):
            for spec in specs:
                if spec.label not in ended and all(label in ended for label in spec.after):
                    report = self._ended(spec, reports[spec.label], ended, answers)
                    ended[spec.label] = report
                    answers[spec.label] = report.response
        return self._keep(batch_id, tuple(ended[spec.label] for spec in specs))

    async def report(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        for batch in self.batches.values():
            if session_id not in (None, batch.session_id):
                continue
            if batch.batch_id == batch_or_task_id:
                return batch
            for task in batch.tasks:
                if task.task_id == batch_or_task_id:
                    return replace(batch, tasks=(task,))
        raise NotFound(f"No delegation {batch_or_task_id!r}")

    async def reports(
        self,
        *,
        session_id: str | None,
        run_id: str | None = None,
        running: bool = False,
        limit: int = 50,
    ) -> list[BatchReport]:
        found = [
            batch
            for batch in reversed(self.batches.values())
            if session_id in (None, batch.session_id)
            and run_id in (None, batch.parent_run_id)
            and (not running or batch.status == "running")
        ]
        return found[:limit]

    async def wait(
        self, batch_or_task_id: str, *, session_id: str | None, timeout_s: float
    ) -> BatchReport:
        self.waited.append(timeout_s)
        return await self.report(batch_or_task_id, session_id=session_id)

    async def cancel(self, batch_or_task_id: str, *, session_id: str | None) -> BatchReport:
        found = await self.report(batch_or_task_id, session_id=session_id)
        stopped = {task.task_id for task in found.tasks}
        tasks = tuple(
            replace(task, status="cancelled", partial=True)
            if task.task_id in stopped and task.status not in ENDED
            else task
            for task in self.batches[found.batch_id].tasks
        )
        self._keep(found.batch_id, tasks)
        return await self.report(batch_or_task_id, session_id=session_id)

    async def broadcast(
        self, text: str, *, session_id: str, batch_id: str | None = None
    ) -> list[str]:
        reported = [
            task.task_id
            for batch in await self.reports(session_id=session_id, running=True)
            for task in batch.tasks
            if batch_id in (None, batch.batch_id) and task.status not in ENDED
        ]
        for task_id in reported:
            self.heard.setdefault(task_id, []).append(text)
        return reported

    def left_by(self, operation_id: str) -> str | None:
        return None  # it does not outlive its process

    def _twin(self, specs: Sequence[TaskSpec], ctx: ToolContext) -> BatchReport | None:
        """A batch at work that was started with the same words."""
        for former, batch in zip(self.started, self.batches.values(), strict=False):
            same = batch.session_id == ctx.session_id and list(former.specs) == list(specs)
            if same and batch.status == "running":
                return batch
        return None

    def _ended(
        self,
        spec: TaskSpec,
        report: TaskReport,
        ended: Mapping[str, TaskReport],
        answers: Mapping[str, str],
    ) -> TaskReport:
        if any(ended[label].status != "success" for label in spec.after):
            error = {"code": "skipped", "message": "A task before it has failed"}
            return replace(report, status="skipped", error=error)
        came = self.script(spec, {label: answers[label] for label in spec.after})
        calls = ({"tool": "read_file", "status": "success", "route": "worker-local"},)
        return replace(
            report,
            status=came.status,
            response=came.response,
            partial=came.status != "success" and bool(came.response),
            error=came.error,
            rounds=2,
            calls=calls,
            routes={"read_file": "worker-local", "write_file": "main-process-proxy"},
            finished_at=MOMENT,
        )

    def _keep(self, batch_id: str, tasks: tuple[TaskReport, ...]) -> BatchReport:
        batch = replace(self.batches[batch_id], tasks=tasks, status=_status(tasks))
        self.batches[batch_id] = batch
        return batch


def _waiting(spec: TaskSpec, batch_id: str, number: int) -> TaskReport:
    suffix = batch_id.removeprefix("dlg_")
    return TaskReport(
        task_id=f"tsk_{suffix}_{number}",
        batch_id=batch_id,
        run_id=f"run_{suffix}_{number}",
        label=spec.label,
        goal=spec.goal,
        status="running",
        response="So far",
        partial=True,
    )


def _status(tasks: Sequence[TaskReport]) -> Any:
    statuses = {task.status for task in tasks}
    if not statuses <= ENDED:
        return "running"
    if "cancelled" in statuses:
        return "cancelled"
    if statuses == {"success"}:
        return "success"
    return "partial" if "success" in statuses else "error"


def _check(specs: Sequence[TaskSpec]) -> None:
    if len(specs) > MAX_TASKS:
        raise InvalidInput(f"Maximum {MAX_TASKS} concurrent agents allowed", field="tasks")
    labels = [spec.label for spec in specs]
    if len(set(labels)) != len(labels):
        raise InvalidInput("tasks: a label is there twice", field="tasks")
    done: set[str] = set()
    while len(done) < len(specs):
        ready = {spec.label for spec in specs if set(spec.after) <= done} - done
        if not ready:
            raise InvalidInput("after: the tasks wait for each other", field="after")
        done |= ready


# What is looked up by name is checked for its methods when it is used: one that lacks a method is
# "not available". Types say so earlier, and name it.
_: type[Delegation] = ScriptedDelegation
