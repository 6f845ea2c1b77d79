"""On whose behalf a call runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.events.durable import Route
from app.events.log import SessionLog
from app.operations.protocols import Operations
from app.toolkit.context import NOTHING

Caller = Literal["agent", "websocket", "rest", "cli", "schedule", "subagent", "mcp"]


@dataclass(frozen=True, slots=True)
class Project:
    """A workspace, opened: `operations` act in it and nowhere else."""

    id: str
    root: str
    operations: Operations


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Everything about a batch of calls that does not come from the model.

    Attributes:
        log: where the events of these calls go.
        attended: somebody is, or may come to be, there to answer a confirmation.
        cacheable: False when the caller wants every call to run.
    """

    log: SessionLog
    run_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    project: Project | None = None
    caller: Caller = "agent"
    message_id: str | None = None
    attended: bool = True
    cacheable: bool = True
    route: Route = "main"
    model: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    business: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def session_id(self) -> str:
        return self.log.session_id

    @property
    def scope(self) -> str:
        """What a write may change for others: the project, else the session alone."""
        return self.project.id if self.project else self.log.session_id
