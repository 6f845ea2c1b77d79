"""Progress of sub-agents, as shown to a model and to clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from app.domain.delegation import ENDED, BatchReport, TaskReport, TaskStatus
from app.toolkit.result import RawResult, ToolResult
from app.tools.untrusted import untrusted

FAILED = "subagents_failed"
"""Code of a batch whose tasks all failed."""

_WORDS: Mapping[TaskStatus, str] = {
    "waiting": "is queued",
    "running": "is running",
    "success": "succeeded",
    "error": "failed",
    "cancelled": "was cancelled",
    "timeout": "timed out",
    "max_rounds": "reached its maximum rounds",
    "interrupted": "was interrupted",
    "skipped": "was skipped",
}
_AGAIN = "The same batch was just started; this is its result."
_HOW_TO_SEE = "delegate_status shows its progress, delegate_cancel stops it."


def task_data(task: TaskReport) -> dict[str, Any]:
    """Return the fields of a report in JSON form."""
    return {item.name: _plain(getattr(task, item.name)) for item in fields(task)}


def batch_data(batch: BatchReport) -> dict[str, Any]:
    """Return a batch in JSON form, with its tasks in order; see `task_data`."""
    data = {item.name: getattr(batch, item.name) for item in fields(batch) if item.name != "tasks"}
    return {**data, "tasks": [task_data(task) for task in batch.tasks]}


def one_answer(batch: BatchReport) -> ToolResult:
    """Return the result of an ended batch with one task."""
    (task,) = batch.tasks
    data = {**task_data(task), "duplicate": batch.duplicate}
    text = _noted(batch, _task_text(task, headed=False))
    drawn = RawResult("json", batch_data(batch))
    if task.status == "success":
        return ToolResult.ok(data, text=text, raw_result=drawn)
    error, code = _failure(task)
    return ToolResult.fail(error, code=code, data=data, text=text, raw_result=drawn)


def all_answers(batch: BatchReport) -> ToolResult:
    """Return the result of an ended batch: a success if one of its tasks succeeded."""
    data = batch_data(batch)
    text = _noted(batch, "\n\n".join(_task_text(task, headed=True) for task in batch.tasks))
    drawn = RawResult("json", data)
    if any(task.status == "success" for task in batch.tasks):
        return ToolResult.ok(data, text=text, raw_result=drawn)
    reasons = "; ".join(_failure(task)[0] for task in batch.tasks)
    return ToolResult.fail(
        f"No sub-agent succeeded: {reasons}",
        code="cancelled" if batch.status == "cancelled" else FAILED,
        data=data,
        text=text,
        raw_result=drawn,
    )


def begun(batch: BatchReport) -> ToolResult:
    """Return the result of a batch that continues in the background."""
    named = [f"{task.task_id} ({task.label})" for task in batch.tasks]
    started = f"Started in the background as {batch.batch_id}: {', '.join(named)}."
    data = batch_data(batch)
    text = _noted(batch, f"{started} {_HOW_TO_SEE}")
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def progress(batch: BatchReport) -> ToolResult:
    """Return the progress of a batch; a failed batch is not a failure of this call."""
    data = batch_data(batch)
    message = "\n\n".join(_task_text(task, headed=True) for task in batch.tasks)
    text = f"{batch_line(batch)}\n{message}"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def batch_line(batch: BatchReport) -> str:
    """Return one line about a batch."""
    ended = sum(task.status in ENDED for task in batch.tasks)
    name = f" {batch.name!r}" if batch.name else ""
    return f"{batch.batch_id}{name}: {batch.status}, {ended} of {len(batch.tasks)} ended"


def _noted(batch: BatchReport, text: str) -> str:
    return f"{_AGAIN}\n{text}" if batch.duplicate else text


def _task_text(task: TaskReport, *, headed: bool) -> str:
    """Return the result of a task; model output is marked as untrusted."""
    said = untrusted(task.response, f"sub-agent {task.label}") if task.response else ""
    if task.status == "success" and not headed:
        return said or "It ended without an answer."
    head = f"{task.label} ({task.task_id}) {_WORDS[task.status]}"
    if task.status != "success":
        head += f", rounds: {task.rounds}, calls: {len(task.calls)}"
    if task.error:
        head += f": {task.error.get('message', '')}"
    if not said:
        return head
    return f"{head}\nIts partial answer:\n{said}" if task.partial else f"{head}\n{said}"


def _failure(task: TaskReport) -> tuple[str, str]:
    """Return the sentence and code for an unsuccessful task."""
    error = task.error or {}
    said = f": {error['message']}" if error.get("message") else ""
    return f"{task.label} {_WORDS[task.status]}{said}", str(error.get("code") or task.status)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
