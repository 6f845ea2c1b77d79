"""Processes that a test scripts: no program is started."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.core.errors import ToolFailed
from app.operations.memory.files import MemoryTree
from app.operations.protocols import ProcessChunk, ProcessExit, ProcessSpec, RunningProcess

Script = Callable[[ProcessSpec], tuple[Sequence[ProcessChunk], ProcessExit]]


def no_programs(spec: ProcessSpec) -> tuple[Sequence[ProcessChunk], ProcessExit]:
    """The default script: nothing is installed."""
    name = spec.argv[0] if spec.argv else ""
    raise ToolFailed(f"Program not found: {name!r}", code="program_not_found", program=name)


class MemoryProcesses:
    """`ProcessOperations` that answers from a script.

    Attributes:
        started: every spec in the order of `open`.
    """

    def __init__(self, tree: MemoryTree, script: Script = no_programs) -> None:
        self.started: list[ProcessSpec] = []
        self._tree = tree
        self._script = script
        self._pids = itertools.count(1)

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: ProcessSpec) -> AsyncIterator[RunningProcess]:
        self._tree.folder(spec.cwd)
        self.started.append(spec)
        chunks, ended = self._script(spec)
        yield _ScriptedProcess(next(self._pids), chunks, ended)


class _ScriptedProcess:
    def __init__(self, pid: int, chunks: Sequence[ProcessChunk], ended: ProcessExit) -> None:
        self.pid = pid
        self._chunks = list(chunks)
        self._ended = ended

    async def output(self) -> AsyncIterator[ProcessChunk]:
        while self._chunks:
            yield self._chunks.pop(0)

    async def wait(self) -> ProcessExit:
        return self._ended

    async def kill(self) -> None:
        self._chunks.clear()
