"""Processes of sessions and what their shells keep, as Protocols; the composition root binds them.

A call that starts a program asks the service for it: the service owns every process, so
that one may outlive its call and none outlives the service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from app.operations.protocols.processes import ProcessExit, ProcessOperations, ProcessSpec
from app.operations.protocols.sandbox import SandboxReport
from app.toolkit.context import Output

SESSION_PROCESSES = "session_processes"
SHELL_STATES = "shell_states"


class OutputTap(Protocol):
    """Takes out of standard output what is not meant to be seen."""

    def feed(self, data: bytes) -> bytes:
        """What of `data`, and of what was held back before, may be seen."""

    def finish(self) -> bytes:
        """What was held back, at the end of the output."""


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """A program to be started for a session.

    Attributes:
        command: what it is called towards people and models.
        operation_id: the call that starts it.
        tap: sees standard output before anything else does.
        project_id: where it works.
        subagent_id: the sub-agent that starts it; None for the agent of the session.
    """

    session_id: str
    operation_id: str
    command: str
    spec: ProcessSpec
    tap: OutputTap | None = None
    project_id: str | None = None
    subagent_id: str | None = None


@dataclass(frozen=True, slots=True)
class OutputPage:
    """A part of what a process printed: bytes `start` (inclusive) to `end` of it, as text."""

    text: str
    start: int
    end: int


class SessionProcess(Protocol):
    """One process of a session, running or ended.

    Attributes:
        id: names it within its session.
        seen: how many bytes of its output its session has been shown.
    """

    id: str
    seen: int

    @property
    def request(self) -> ProcessRequest: ...

    @property
    def size(self) -> int:
        """Bytes of output that are kept, both streams together, as UTF-8."""

    @property
    def age_s(self) -> float:
        """Seconds since its start; until its end when it has ended."""

    @property
    def exit(self) -> ProcessExit | None:
        """How it ended; None while it runs."""

    @property
    def sandbox(self) -> SandboxReport:
        """What confines it; with its end, also how it was ended."""

    async def next_output(self) -> Output | None:
        """The next piece of output for the call that started it; None after the last one.

        The program waits when nobody takes its output, until `unfollow`.
        """

    def unfollow(self) -> None:
        """Nobody takes its output piece by piece any more; it is kept all the same."""

    async def wait(self) -> ProcessExit:
        """Its end, when nothing of it is left."""

    async def news(self) -> None:
        """Return when more was printed or it has ended, from now on."""

    async def read(self, offset: int, limit: int) -> OutputPage:
        """Output from byte `offset`, at most `limit` (>= 4) bytes, whole characters only."""

    async def write(self, data: bytes) -> None:
        """As `RunningProcess.write`."""

    async def close_input(self) -> None:
        """As `RunningProcess.close_input`."""

    async def kill(self) -> None:
        """End all of it; returns when nothing of it is left."""


@runtime_checkable
class SessionProcesses(Protocol):
    """The service `SESSION_PROCESSES`.

    Attributes:
        timeout_s: how long a call waits for its command when it does not say.
        max_timeout_s: the longest that a call may wait for its command.
        max_background_s: the longest that a process may run in the background.
    """

    timeout_s: float
    max_timeout_s: float
    max_background_s: float

    def foreground(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> AbstractAsyncContextManager[SessionProcess]:
        """Start a process that leaving the context ends and forgets, unless it was kept.

        Raises (on entering): as `ProcessOperations.open`.
        """

    async def background(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> SessionProcess:
        """Start a process that outlives the call.

        Raises:
            ToolFailed: code `too_many_processes`; or as `ProcessOperations.open`.
        """

    def keep(self, process: SessionProcess) -> None:
        """Let a process of the foreground outlive its call, with what it printed.

        Raises:
            ToolFailed: code `too_many_processes`, where it still runs.
        """

    def find(
        self, session_id: str, process_id: str, subagent_id: str | None = None
    ) -> SessionProcess:
        """A kept process of that session; for a sub-agent, one that it has started itself.

        Raises:
            ToolFailed: code `process_not_found`.
        """

    def of(self, session_id: str, subagent_id: str | None = None) -> Sequence[SessionProcess]:
        """The kept processes of a session, or of a sub-agent in it, the oldest first."""


@dataclass(frozen=True, slots=True)
class ShellState:
    """What a session's shell was left with: an absolute directory, exported variables."""

    cwd: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class ShellStates(Protocol):
    """The service `SHELL_STATES`: what shells keep, by `ToolContext.shell_id` and project."""

    def get(self, shell_id: str | None, project_id: str | None) -> ShellState:
        """Nothing is there for a shell that has kept nothing."""

    def put(self, shell_id: str | None, project_id: str | None, state: ShellState) -> None:
        """Replace it; nothing is kept without a session."""
