"""Context of a running tool: its call, and its only access to services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from app.core.errors import ProjectRequired
from app.operations.protocols.operations import Operations
from app.toolkit.services import Services

OutputStream = Literal["stdout", "stderr", "content"]
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Output:
    """One piece of live output. A streaming tool yields these, or plain strings (`content`)."""

    text: str
    stream: OutputStream = "content"


@dataclass(frozen=True, slots=True)
class Progress:
    """A report of a running tool: the stage, and where known how far it is.

    Attributes:
        stage: short name of what is happening now.
        current, total: how much is done, of how much; `percent` is derived.
        unit: what the numbers count.
    """

    stage: str
    message: str | None = None
    current: float | None = None
    total: float | None = None
    unit: str | None = None


ReportProgress = Callable[[Progress], Awaitable[None]]


async def _ignore(_: Progress) -> None:
    return None


@dataclass(slots=True)
class ToolContext:
    """Injected by the executor; nothing in it comes from the model.

    Attributes:
        tool_call_id, operation_id: this call, as every event names it.
        session_id, run_id, agent_id, user_id: on whose behalf it runs.
        token_id: the token that the call is counted for; None without one.
        project_id: the project whose workspace the call works in; None without one.
        model: settings of the calling conversation, for tools that call a model.
        subagent_id: the task of the sub-agent that calls; None when the agent itself does.
        kept_cwd: where the session's shell was left, when the call goes on there; absolute.
            Policy has judged the call there, so it must run there.
        approved: the codes of what policy asked about and a person, a rule or a grant allowed.
        timeout_s: after how many seconds the call is stopped; None when nobody does.
        business: facts of the calling channel (the seeds' `bizContext`).
        services: typed look-up of long-lived services; a missing one is a clean error.
    """

    tool_call_id: str
    operation_id: str
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    token_id: str | None = None
    project_id: str | None = None
    subagent_id: str | None = None
    kept_cwd: str | None = None
    approved: frozenset[str] = frozenset()
    timeout_s: float | None = None
    model: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    business: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    services: Services = field(default_factory=Services)
    bound_operations: Operations | None = None
    report: ReportProgress = _ignore

    @property
    def operations(self) -> Operations:
        """Files, search and processes of this call's workspace.

        Raises:
            ProjectRequired: the call came without a project.
        """
        if self.bound_operations is None:
            raise ProjectRequired
        return self.bound_operations

    @property
    def shell_id(self) -> str | None:
        """ID of the shell that the call continues; a sub-agent has its own."""
        return self.subagent_id or self.session_id

    def as_current(self) -> AbstractContextManager[None]:
        """Inside, `current_context()` is this call; tasks and threads begun inside see it too."""
        return _CurrentContext(self)

    async def progress(
        self,
        stage: str,
        message: str | None = None,
        *,
        current: float | None = None,
        total: float | None = None,
        unit: str | None = None,
    ) -> None:
        """Tell the clients of this session how far the call is."""
        await self.report(Progress(stage, message, current, total, unit))


_current: ContextVar[ToolContext | None] = ContextVar("current_tool_context", default=None)


class _CurrentContext:
    """See `ToolContext.as_current`. A class, because a generator costs each call twice as much."""

    __slots__ = ("_context", "_token")

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._token = _current.set(self._context)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def current_context() -> ToolContext | None:
    """The call whose tool is running here; None outside of a call."""
    return _current.get()
