"""Processes of sessions and saved shell state, and their services.

The service owns every process started by a call, so that it may outlive its call and never outlives
the service.
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
    """Removes hidden parts from standard output."""

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data`, and of earlier held-back data, that may be shown."""

    def finish(self) -> bytes:
        """Return the held-back data at the end of the output."""


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """Program to start for a session.

    Attributes:
        command: text shown to people and models.
        operation_id: call that starts it.
        tap: filter applied first to standard output.
        project_id: project of its working directory.
        subagent_id: sub-agent that starts it; None for the session's agent.
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
    """Part of a process's output: bytes `start` (inclusive) to `end` (exclusive), as text."""

    text: str
    start: int
    end: int


class SessionProcess(Protocol):
    """Process of a session, running or ended.

    Attributes:
        id: ID, unique within its session.
        seen: bytes of output already shown to the session.
    """

    id: str
    seen: int

    @property
    def request(self) -> ProcessRequest: ...

    @property
    def size(self) -> int:
        """Return the stored bytes of output, both streams together, as UTF-8."""

    @property
    def age_s(self) -> float:
        """Return the seconds since its start; after its end, its duration."""

    @property
    def exit(self) -> ProcessExit | None:
        """Return how the process ended; None while it runs."""

    @property
    def sandbox(self) -> SandboxReport:
        """Return its sandbox; after its end, including the reason."""

    async def next_output(self) -> Output | None:
        """Return the next output for the call that started it; None after the last.

        The program blocks if its output is not read, until `unfollow`.
        """

    def unfollow(self) -> None:
        """Stop streaming its output, which is still stored."""

    async def wait(self) -> ProcessExit:
        """Wait until all its processes have ended, and return its exit."""

    async def news(self) -> None:
        """Return when more output has arrived or it has ended, from now on."""

    async def read(self, offset: int, limit: int) -> OutputPage:
        """Return output from byte `offset`, at most `limit` (>= 4) bytes, whole characters only."""

    async def write(self, data: bytes) -> None:
        """See `RunningProcess.write`."""

    async def close_input(self) -> None:
        """See `RunningProcess.close_input`."""

    async def kill(self) -> None:
        """End all its processes, and wait for it."""


@runtime_checkable
class SessionProcesses(Protocol):
    """Service `SESSION_PROCESSES`.

    Attributes:
        timeout_s: seconds a call waits for its command by default.
        max_timeout_s: maximum seconds a call may wait for its command.
        max_background_s: maximum seconds of a process in the background.
    """

    timeout_s: float
    max_timeout_s: float
    max_background_s: float

    def foreground(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> AbstractAsyncContextManager[SessionProcess]:
        """Start a process that ends with the context unless it is kept.

        Raises (on entering): see `ProcessOperations.open`.
        """

    async def background(
        self, request: ProcessRequest, processes: ProcessOperations
    ) -> SessionProcess:
        """Start a process that outlives the call.

        Raises:
            ToolFailed: code `too_many_processes`; or see `ProcessOperations.open`.
        """

    def keep(self, process: SessionProcess) -> None:
        """Move a foreground process to the background, with its output.

        Raises:
            ToolFailed: code `too_many_processes`, if it still runs.
        """

    def find(
        self, session_id: str, process_id: str, subagent_id: str | None = None
    ) -> SessionProcess:
        """Return a kept process of the session; for a sub-agent, one that it started itself.

        Raises:
            ToolFailed: code `process_not_found`.
        """

    def of(self, session_id: str, subagent_id: str | None = None) -> Sequence[SessionProcess]:
        """Return the kept processes of a session, or of a sub-agent in it, oldest first."""


@dataclass(frozen=True, slots=True)
class ShellState:
    """Saved state of a session's shell: an absolute directory, and exported variables."""

    cwd: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class ShellStates(Protocol):
    """Service `SHELL_STATES`: saved shell state, by `ToolContext.shell_id` and project."""

    def get(self, shell_id: str | None, project_id: str | None) -> ShellState:
        """Return the saved state; it is empty if there is none."""

    def put(self, shell_id: str | None, project_id: str | None, state: ShellState) -> None:
        """Replace the state; without a session, nothing is saved."""
