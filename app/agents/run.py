"""Values of a run: its identity, its queue, and its errors."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from app.agents.budget import Spending
from app.agents.loop import LoopState
from app.agents.progress import RunProgress
from app.agents.sessions import Block, Session
from app.core.errors import InvalidInput, TollgateError, Unauthenticated
from app.core.ids import new_id
from app.core.text import dump_json
from app.events.durable import RunStatus, Trigger
from app.execution.call import ToolCallBatch
from app.execution.outcome import CallOutcome
from app.governance.limits import NOBODY, QuotaSubject

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """Run; `done` is resolved after `run_finished` has been appended.

    Attributes:
        unheard: IDs of the last messages on the branch, which the last response had not seen.
        before: progress in the process that started it.
        tools_enabled: whether its model may call tools.
        is_left: it stops with the service, and the next process continues it.
        asked: model requests of its tools, if it has no model.
    """

    id: str
    session: Session
    trigger: Trigger
    done: asyncio.Future[RunStatus]
    task: asyncio.Task[None] | None = None
    turns: LoopState | None = None
    outcomes: list[CallOutcome] = field(default_factory=list)
    finished: dict[str, CallOutcome] = field(default_factory=dict)
    interrupted: bool = False
    is_cancelled: bool = False
    is_begun: bool = False
    started_at: str = ""
    agent_id: str | None = None
    batch: ToolCallBatch | None = None
    quota_subject: QuotaSubject = NOBODY
    attended: bool = True
    unheard: tuple[str, ...] = ()
    before: RunProgress | None = None
    tools_enabled: bool = True
    is_left: bool = False
    asked: Spending = field(default_factory=Spending)

    @property
    def has_model(self) -> bool:
        """Return whether a model decides which tools are called."""
        return self.trigger not in ("direct", "rest")


@dataclass(frozen=True, slots=True)
class Queued:
    """Message that waits for the current run; stored, because it was acknowledged.

    Attributes:
        place: position; later messages have a higher one, even within the same millisecond.
    """

    run: Run
    message_id: str
    content: list[Block]
    client_message_id: str | None
    place: int = 0

    def stored(self) -> str:
        waiting = {
            "message_id": self.message_id,
            "content": self.content,
            "client_message_id": self.client_message_id,
            "payer": self.run.quota_subject.to_json(),
            "trigger": self.run.trigger,
            "attended": self.run.attended,
            "tools_enabled": self.run.tools_enabled,
            "place": self.place,
        }
        return dump_json(waiting).decode()


def error_of(run_id: str, error: BaseException | None) -> TollgateError | None:
    """Return the public part of the error that ended a run."""
    if error is None or isinstance(error, TollgateError):
        return error
    error_id = new_id("err")
    log.error("run %s failed unexpectedly (%s)", run_id, error_id, exc_info=error)
    return TollgateError(f"Internal error {error_id}", error_id=error_id)


def error_body(error: TollgateError) -> dict[str, Any]:
    """Return a failure in the form of events."""
    body: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "retryable": bool(error.details.get("retryable", error.retryable)),
    }
    if error.details:
        body["details"] = error.details
    return body


def require_alike(active: Run, answering: str | None, *, tools_enabled: bool) -> None:
    """Check that a message can join the active run. Raises: InvalidInput."""
    if answering != active.agent_id:
        raise InvalidInput(
            "A message cannot steer a run of another agent; name that agent", field="agent_id"
        )
    if tools_enabled != active.tools_enabled:
        state = "on" if active.tools_enabled else "off"
        raise InvalidInput(
            f"The run that this message would steer has its tools {state}; queue the "
            f"message, or send tools_enabled: {str(active.tools_enabled).lower()}",
            field="tools_enabled",
        )


async def last_word(progress: RunProgress) -> RunStatus:
    """Return the end of a run whose model has finished."""
    return "refused" if progress.stop_reason == "refusal" else "success"


def revoked() -> Unauthenticated:
    """Return why a run with a revoked token does not continue."""
    return Unauthenticated(
        "The token that started this run was revoked while the service was stopped"
    )


def stopped(run: Run) -> RunStatus:
    """Return the end of a run that was stopped."""
    return "interrupted" if run.interrupted else "cancelled"
