"""Stored progress of delegated tasks, in addition to their public rows.

The rows are redacted, but a sub-agent must continue with its original input. This data is deleted
when the batch ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from app.agents.delegation.model import Parent, SubagentTask, TaskBatch
from app.agents.sessions import Session
from app.core.text import dump_json
from app.domain.delegation import TaskSpec
from app.governance.limits import QuotaSubject

_LISTS = ("tools", "workspace_roots", "after")


@dataclass(frozen=True, slots=True)
class KeptParent:
    """Stored parent of a delegation, with its limits."""

    agent_id: str | None
    tool_call_id: str
    operation_id: str
    project_id: str | None
    quota_subject: QuotaSubject
    attended: bool
    model: Mapping[str, Any]
    business: Mapping[str, Any]
    concurrency: int

    def of(self, session: Session, run_id: str | None) -> Parent:
        """Restore the parent in this process; without a waiter, no progress is reported."""
        return Parent(
            session=session,
            run_id=run_id,
            agent_id=self.agent_id,
            tool_call_id=self.tool_call_id,
            operation_id=self.operation_id,
            project_id=self.project_id,
            counted_run=run_id,
            quota_subject=self.quota_subject,
            attended=self.attended,
            model=self.model,
            business=self.business,
        )


@dataclass(frozen=True, slots=True)
class KeptTask:
    """Stored task of a batch that continues.

    Attributes:
        fields: of `Task`, by name.
    """

    spec: TaskSpec
    fields: Mapping[str, Any]


def parent_stored(batch: TaskBatch) -> str:
    """Return the parts of a batch's parent that must survive the process, as JSON text."""
    parent = batch.parent
    kept = {
        "agent_id": parent.agent_id,
        "tool_call_id": parent.tool_call_id,
        "operation_id": parent.operation_id,
        "project_id": parent.project_id,
        "payer": parent.quota_subject.to_json(),
        "attended": parent.attended,
        "model": dict(parent.model),
        "business": dict(parent.business),
        "concurrency": batch.concurrency,
    }
    return dump_json(kept).decode()


def parent_read(stored: str) -> KeptParent:
    """Parse the output of `parent_stored`.

    Raises:
        ValueError, KeyError, TypeError: the text has another format.
        InvalidInput: its limits are invalid.
    """
    kept = orjson.loads(stored)
    quota_subject = QuotaSubject.from_json(kept.pop("payer"))
    return KeptParent(**kept, quota_subject=quota_subject)


def task_stored(task: SubagentTask, *, now: float, found: tuple[str, ...]) -> str:
    """Return the progress of a task as JSON text; `now` is on the monotonic clock."""
    kept: dict[str, Any] = {"spec": asdict(task.spec), "response": task.response}
    if not task.is_over:
        kept |= {
            "messages": task.messages,
            # A cut-off request is not stored: it is sent again.
            "rounds": task.rounds - task.is_asking,
            "message_id": task.message_id,
            "is_answered": task.is_answered,
            "unheard": task.unheard,
            "tries": task.tries,
            "found": found,
            "spent_s": task.spent_s + (0.0 if task.began is None else now - task.began),
            "stopped_as": None if task.is_left else task.stopped_as,
        }
    return dump_json(kept).decode()


def task_read(stored: str) -> KeptTask:
    """Parse the output of `task_stored`.

    Raises:
        ValueError, KeyError, TypeError: the text has another format.
    """
    kept = orjson.loads(stored)
    spec = kept.pop("spec")
    lists = {name: tuple(spec[name]) for name in _LISTS if spec[name] is not None}
    if "found" in kept:
        kept["found"] = tuple(kept["found"])
    return KeptTask(TaskSpec(**(spec | lists)), kept)
