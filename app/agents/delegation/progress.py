"""How far delegated work has come, beside what its rows show everybody.

The rows are redacted, and a sub-agent must go on with the words that it was given. What is
written here is there only until the batch has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from app.agents.delegation.model import Parent, SubagentTask, TaskBatch
from app.agents.sessions import Session
from app.core.text import dump_json
from app.governance.limits import QuotaSubject
from app.tools.delegation.ports import TaskSpec

_LISTS = ("tools", "workspace_roots", "after")


@dataclass(frozen=True, slots=True)
class KeptParent:
    """Who has delegated, and within what."""

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
        """The same, for this process; nobody waits, so nobody is told of progress."""
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
    """One task of a batch that goes on.

    Attributes:
        fields: of `Task`, by name.
    """

    spec: TaskSpec
    fields: Mapping[str, Any]


def parent_stored(batch: TaskBatch) -> str:
    """What of a batch's parent must outlive the process, as JSON text."""
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
    """Read what `parent_stored` wrote.

    Raises:
        ValueError, KeyError, TypeError: it is not of this kind.
        InvalidInput: its limits cannot be read.
    """
    kept = orjson.loads(stored)
    quota_subject = QuotaSubject.from_json(kept.pop("payer"))
    return KeptParent(**kept, quota_subject=quota_subject)


def task_stored(task: SubagentTask, *, now: float, found: tuple[str, ...]) -> str:
    """How far a task is, as JSON text; `now` on the monotonic clock."""
    kept: dict[str, Any] = {"spec": asdict(task.spec), "response": task.response}
    if not task.is_over:
        kept |= {
            "messages": task.messages,
            # Nothing is kept of a request that was cut off: it is made anew.
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
    """Read what `task_stored` wrote.

    Raises:
        ValueError, KeyError, TypeError: it is not of this kind.
    """
    kept = orjson.loads(stored)
    spec = kept.pop("spec")
    lists = {name: tuple(spec[name]) for name in _LISTS if spec[name] is not None}
    if "found" in kept:
        kept["found"] = tuple(kept["found"])
    return KeptTask(TaskSpec(**(spec | lists)), kept)
