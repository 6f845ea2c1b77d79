"""Protocol for running untrusted Python."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from app.operations.protocols.processes import ProcessChunk, ProcessExit

Strictness = Literal["lenient", "standard", "strict"]


@dataclass(frozen=True, slots=True)
class CodeSpec:
    """Python code to run.

    Attributes:
        wall_s: timeout in seconds.
        modules: allowed top-level modules in addition to the level's own list.
    """

    code: str
    level: Strictness
    wall_s: float
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProducedFile:
    """File that the code left in its working folder; `path` is relative to it."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CodeExit:
    """Result of the code.

    Attributes:
        exit: exit of its process.
        value: `repr` of the last expression; None if there is none or it is None.
        error: exception that ended it, as one line such as `ZeroDivisionError: division by zero`.
        files: files it left, smallest first, within the limits.
        files_left_out: number of further files.
    """

    exit: ProcessExit
    value: str | None = None
    error: str | None = None
    files: tuple[ProducedFile, ...] = ()
    files_left_out: int = 0


class RunningCode(Protocol):
    """Running code."""

    def output(self) -> AsyncIterator[ProcessChunk]:
        """Yield its output until it has ended."""

    async def wait(self) -> CodeExit:
        """Return its result. Unread output is discarded."""


class CodeOperations(Protocol):
    """Operations that run Python inside the sandbox."""

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        """Start `spec`; leaving the context ends all its processes.

        Raises (on entering): ToolFailed `sandbox_unavailable`.
        """
