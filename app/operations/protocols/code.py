"""Running Python that nobody has read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from app.operations.protocols.processes import ProcessChunk, ProcessExit

Strictness = Literal["lenient", "standard", "strict"]


@dataclass(frozen=True, slots=True)
class CodeSpec:
    """One piece of Python.

    Attributes:
        wall_s: seconds until it is ended.
        modules: top-level modules it may import beyond the level's own list.
    """

    code: str
    level: Strictness
    wall_s: float
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProducedFile:
    """A file the code left behind in its working folder; `path` is relative to it."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CodeExit:
    """How the code ended.

    Attributes:
        exit: how its process ended.
        value: `repr` of the last expression; None when there is none or it is None.
        error: one line, the exception that ended it, as `ZeroDivisionError: division by zero`.
        files: what it left behind, smallest first, as far as the limits let it.
        files_left_out: how many more there were.
    """

    exit: ProcessExit
    value: str | None = None
    error: str | None = None
    files: tuple[ProducedFile, ...] = ()
    files_left_out: int = 0


class RunningCode(Protocol):
    """Code under way."""

    def output(self) -> AsyncIterator[ProcessChunk]:
        """What it prints, as it comes, until it has ended."""

    async def wait(self) -> CodeExit:
        """How it ended. Output nobody reads is discarded meanwhile."""


class CodeOperations(Protocol):
    """Running Python inside the sandbox."""

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        """Start `spec`; leaving the context ends whatever of it still runs.

        Raises (on entering): ToolFailed `sandbox_unavailable`.
        """
