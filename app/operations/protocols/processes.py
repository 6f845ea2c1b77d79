"""Starting programs, talking to them, ending all they started."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from app.operations.protocols.sandbox import SandboxReport

MayChange = Literal["git", "files"]
"Files that other programs run: those of git, and all others in the table of protected paths."

ExitReason = Literal[
    "exited", "timeout", "memory", "disk", "files", "processes", "output", "killed", "lost"
]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of one process tree; None is as much as the sandbox lets it have.

    Attributes:
        wall_s: seconds until the whole tree is ended; None for as long as it is wanted.
        cpu_s: CPU seconds per process.
        file_bytes: largest file it may write.
        disk_bytes: bytes the whole tree may write.
        processes: processes of the tree.
        tasks: processes and threads of the tree, which the kernel counts as one; None is as
            many as `processes`.
        memory_bytes: memory of the whole tree (of each process where nothing meters it).
        output_bytes: what the tree may write to its output streams before it is ended.
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
    """The size of a terminal in characters."""

    rows: int = 24
    columns: int = 80


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to start. The environment starts empty but for a fixed safe set plus `env`.

    Attributes:
        stdin: what the program reads; then its input ends, unless `interactive`.
        interactive: its input stays open for `RunningProcess.write`.
        terminal: run it on a terminal of this size (implies `interactive`); both output
            streams then come as `stdout`.
        network: False forbids the network also where the project allows it.
        readable: real absolute folders outside the workspace that it may read, not run. One
            that has become a link meanwhile is not followed.
        long_lived: it may run for hours, beside whatever a person does.
        may_change: files that other programs run which it was approved to change for good.
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


@dataclass(frozen=True, slots=True)
class ProcessChunk:
    """Bytes as they came."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended.

    Attributes:
        code: the exit status; when a signal ended it, 128 + `signal`.
        reason: `exited` when it ended by itself, else which limit ended the tree; `killed`
            when the service did; `lost` when its supervisor vanished.
        peak_bytes: the most memory the tree was seen to use, where it was metered.
        orphans: descendants that still ran when the program had ended, and were ended.
        sought_network: it had a network of its own only, and asked for an address beyond it.
        undone: files that other programs run or obey, relative to the workspace, that it changed
            and that were put back.
        left: files that git runs or obeys that it changed and that were left so.
        reported: other such files that it changed and that were left so.
        put_aside: the folder, readable to programs of the workspace, that holds what the files
            said which were put back.
    """

    code: int
    signal: int | None = None
    reason: ExitReason = "exited"
    sandbox: SandboxReport = SandboxReport("none")  # noqa: RUF009 - immutable
    peak_bytes: int | None = None
    orphans: int = 0
    sought_network: bool = False
    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    put_aside: str | None = None


class RunningProcess(Protocol):
    """One started process tree."""

    @property
    def pid(self) -> int: ...

    @property
    def sandbox(self) -> SandboxReport:
        """What confines it; how it was ended only `wait` tells."""

    def output(self) -> AsyncIterator[ProcessChunk]:
        """Both streams as they come, until the process has ended and its pipes are drained."""

    async def write(self, data: bytes) -> None:
        """Give it input; returns when the program's pipe has taken all of it.

        Raises:
            ToolFailed: code `input_closed` when it was not started `interactive`, has
                closed its input, or has ended.
        """

    async def close_input(self) -> None:
        """End its input, as Ctrl-D at the start of a line does; harmless when repeated."""

    async def wait(self) -> ProcessExit:
        """How it ended. Output nobody reads is discarded meanwhile."""

    async def kill(self) -> None:
        """End the whole tree: terminate, then kill; returns when nothing of it is left."""


class ProcessOperations(Protocol):
    """Starting processes inside one workspace."""

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        """Start `spec`; leaving the context kills whatever of the tree still runs.

        Raises (on entering): ToolFailed `program_not_found`, `not_a_directory`,
            `sandbox_unavailable`; OutsideWorkspace for a `cwd` outside.
        """
