"""Protocol for starting, controlling and ending programs with all their processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

from app.core.host_rules import HostRules
from app.operations.protocols.sandbox import SandboxReport

MayChange = Literal["git", "files"]
"""Files run by other programs: those of git, and all others in the table of protected paths."""

ExitReason = Literal[
    "exited",
    "timeout",
    "memory",
    "disk",
    "disk_full",
    "files",
    "processes",
    "output",
    "killed",
    "lost",
]
"""What ended it. `disk` is its own limit; `disk_full` is too little free space on the machine."""

DISK_FULL = "the disk of this machine is nearly full; free disk space and try again"

STOP_REASONS: Mapping[ExitReason, str] = MappingProxyType(
    {
        "timeout": "it exceeded its time limit",
        "memory": "it exceeded its memory limit",
        "disk": "it exceeded its disk limit",
        "disk_full": DISK_FULL,
        "files": "it exceeded its limit of files",
        "processes": "it exceeded its limit of processes",
        "output": "it exceeded its output limit",
        "killed": "it was killed",
        "lost": "its supervisor was lost",
    }
)
"""Why a program that did not exit by itself was stopped."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of one process tree; None for the sandbox's own limit.

    Attributes:
        wall_s: timeout of the whole tree in seconds; None for no timeout.
        cpu_s: CPU seconds per process.
        file_bytes: maximum size of a written file.
        disk_bytes: maximum bytes written by the whole tree.
        processes: maximum processes of the tree.
        tasks: maximum processes and threads of the tree, counted together by the kernel; None for
            the value of `processes`.
        memory_bytes: memory of the whole tree (of each process if nothing meters the tree).
        output_bytes: maximum bytes on its output streams before it is ended.
    """

    wall_s: float | None = None
    cpu_s: int | None = 600
    file_bytes: int | None = 256 << 20
    disk_bytes: int | None = None
    processes: int | None = None
    tasks: int | None = None
    memory_bytes: int | None = None
    open_files: int | None = 1024
    output_bytes: int | None = 64 << 20


@dataclass(frozen=True, slots=True)
class Terminal:
    """Size of a terminal in characters."""

    rows: int = 24
    columns: int = 80


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """Program to start. Its environment contains only a fixed safe set plus `env`.

    Attributes:
        stdin: input of the program, which then ends unless `interactive`.
        interactive: its input stays open for `RunningProcess.write`.
        terminal: run it on a terminal of this size (implies `interactive`); both output streams
            then come as `stdout`.
        network: False forbids the network even if the project allows it.
        readable: real absolute folders outside the workspace that it may read but not run. A folder
            replaced by a link is not followed.
        long_lived: it may run for hours, in parallel with a person's work.
        hosts: hosts that it is approved to reach besides those of the project.
        may_change: files run by other programs that it is approved to change permanently.
    """

    argv: tuple[str, ...]
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    interactive: bool = False
    terminal: Terminal | None = None
    network: bool = True
    readable: tuple[str, ...] = ()
    long_lived: bool = False
    may_change: frozenset[MayChange] = frozenset()
    hosts: HostRules = HostRules()  # noqa: RUF009 - immutable


@dataclass(frozen=True, slots=True)
class ProcessChunk:
    """Piece of output."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True)
class NetworkConnection:
    """Connection of a program through the egress proxy.

    Attributes:
        host, port: destination as the program named it; port 0 for a name lookup.
        verdict: `open` while it lasts, `lost` if its end is unknown.
        code, reason: why it was refused.
        bytes_up, bytes_down: bytes from and to the program.
    """

    host: str
    port: int
    verdict: Literal["open", "allowed", "refused", "lost"]
    code: str | None = None
    reason: str | None = None
    bytes_up: int = 0
    bytes_down: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """Exit of a process.

    Attributes:
        code: exit status; 128 + `signal` if a signal ended it.
        reason: `exited` if it ended by itself, otherwise the limit that ended the tree; `killed` by
            the service; `lost` if its supervisor vanished.
        peak_bytes: highest observed memory of the tree, if metered.
        orphans: descendants that outlived the program and were ended.
        sought_network: it had only a private network, and tried to reach an address beyond it.
        connections: its connections through the egress proxy, if it had a network by host name.
        undone: changed files that other programs run or read as configuration, relative to the
            workspace, which were restored.
        left: changed files that git runs or reads as configuration, which were left.
        reported: other such files that it changed, which were left.
        put_aside: folder with the undone contents, readable by programs of the workspace.
    """

    code: int
    signal: int | None = None
    reason: ExitReason = "exited"
    sandbox: SandboxReport = SandboxReport("none")  # noqa: RUF009 - immutable
    peak_bytes: int | None = None
    orphans: int = 0
    sought_network: bool = False
    connections: tuple[NetworkConnection, ...] = ()
    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    put_aside: str | None = None


class RunningProcess(Protocol):
    """Started process tree."""

    @property
    def pid(self) -> int: ...

    @property
    def sandbox(self) -> SandboxReport:
        """Return its sandbox; only `wait` reports how it was ended."""

    def output(self) -> AsyncIterator[ProcessChunk]:
        """Yield both streams until the process has ended and its pipes are drained."""

    async def write(self, data: bytes) -> None:
        """Write input; return once the program's pipe has accepted all of it.

        Raises:
            ToolFailed: code `input_closed` if it was not started `interactive`, has closed its
                input, or has ended.
        """

    async def close_input(self) -> None:
        """End its input, like Ctrl-D at the start of a line; may be called repeatedly."""

    async def wait(self) -> ProcessExit:
        """Return its exit. Unread output is discarded."""

    async def kill(self) -> None:
        """End the whole tree: terminate, then kill; return once all its processes have ended."""


class ProcessOperations(Protocol):
    """Operations that start processes inside one workspace."""

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        """Start `spec`; leaving the context kills the whole tree.

        Raises (on entering): ToolFailed `program_not_found`, `not_a_directory`,
            `sandbox_unavailable`; OutsideWorkspace for a `cwd` outside.
        """
