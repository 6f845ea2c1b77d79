"""Context of a call: session, user, agent and project."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from app.core.host_rules import HostRules
from app.core.protected_paths import NO_PATHS, PathSet
from app.domain.owners import SessionOwner
from app.events.log import SessionLog
from app.governance.limits import NOBODY, QuotaSubject
from app.operations.protocols.operations import Operations
from app.toolkit.context import NOTHING, OutputStream

if TYPE_CHECKING:
    from app.execution.subagent import Subagent

OnOutput = Callable[[OutputStream, str], None]
Caller = Literal["agent", "websocket", "rest", "cli", "schedule", "subagent", "mcp"]


@dataclass(frozen=True, slots=True)
class Project:
    """Opened workspace; `operations` act only inside it.

    Attributes:
        unprotected: files run by other programs that calls may write without approval.
        allowed_hosts: hosts that its commands may reach without approval.
    """

    id: str
    root: str
    operations: Operations
    unprotected: PathSet = NO_PATHS
    allowed_hosts: HostRules = HostRules()  # noqa: RUF009 - immutable

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the reachable folders, relative to `root`; empty for all."""
        return self.operations.roots

    def releases(self, path: str) -> bool:
        """Return whether the owner allows writing the file at an absolute path without approval."""
        below = path.removeprefix(f"{self.root}/")
        return below != path and self.unprotected.covers(below)

    @property
    def start(self) -> str:
        """Return the default working directory of programs; absolute."""
        return posixpath.join(self.root, *self.roots[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Data about a batch of calls that does not come from the model.

    Attributes:
        log: where the events of these calls go.
        attended: somebody is, or may come to be, there to answer a confirmation.
        cacheable: False when the caller wants every call to run.
        quota_subject: whom the calls are counted for.
        progress: what whoever runs the batch wants to find again when it is resumed.
        on_output: sees every piece of live output, redacted, as it comes. Must not raise.
        user_id: who sent the message or call.
        session_owner: owner of the session, where that can be another user.
        subagent: who calls, where that is a sub-agent.
        session_id: the log's.
        is_agents: a model decides what is called next, so that it may turn in circles.
        parent_tool_call_id: the call that delegated these, where one did.
        scope: what a write may change for others: the project, else the session alone.
    """

    log: SessionLog
    run_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    session_owner: str | None = None
    project: Project | None = None
    caller: Caller = "agent"
    message_id: str | None = None
    attended: bool = True
    cacheable: bool = True
    model: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    business: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    progress: Callable[[], dict[str, Any]] | None = None
    on_output: OnOutput | None = None
    quota_subject: QuotaSubject = NOBODY
    subagent: Subagent | None = None
    session_id: str = field(init=False)
    is_agents: bool = field(init=False)
    parent_tool_call_id: str | None = field(init=False)
    scope: str = field(init=False)

    def __post_init__(self) -> None:
        # Cached: each call reads it several times, and a context has many calls.
        parent = self.subagent.parent_tool_call_id if self.subagent else None
        object.__setattr__(self, "session_id", self.log.session_id)
        object.__setattr__(self, "is_agents", self.caller in ("agent", "subagent", "mcp"))
        object.__setattr__(self, "parent_tool_call_id", parent)
        object.__setattr__(self, "scope", self.project.id if self.project else self.session_id)

    @property
    def owner(self) -> SessionOwner | None:
        """Return the owner of the session, with the project of these calls."""
        user_id = self.session_owner or self.user_id
        if user_id is None:
            return None
        project_id = self.project.id if self.project else None
        return SessionOwner(user_id, project_id, self.agent_id)

    @property
    def counted_run(self) -> str | None:
        """Return the run that its calls are counted for."""
        return (self.subagent.counted_run if self.subagent else None) or self.run_id

    @property
    def shell_id(self) -> str:
        """ID of the shell and processes of these calls; a sub-agent has its own."""
        return self.subagent.task_id if self.subagent else self.log.session_id
