"""Processes scripted by a test: no program is started."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.core.errors import ToolFailed
from app.operations.fakes.files import FakeTree
from app.operations.process_errors import input_closed
from app.operations.protocols.processes import (
    ProcessChunk,
    ProcessExit,
    ProcessSpec,
    RunningProcess,
)

Script = Callable[[ProcessSpec], tuple[Sequence[ProcessChunk], ProcessExit]]


def no_programs(spec: ProcessSpec) -> tuple[Sequence[ProcessChunk], ProcessExit]:
    """Default script: no program is installed."""
    name = spec.argv[0] if spec.argv else ""
    raise ToolFailed(f"Program not found: {name!r}", code="program_not_found", program=name)


class FakeProcesses:
    """`ProcessOperations` that answers from a script.

    Attributes:
        started: every spec in the order of `open`.
    """

    def __init__(self, tree: FakeTree, script: Script = no_programs) -> None:
        self.started: list[ProcessSpec] = []
        self._tree = tree
        self._script = script
        self._pids = itertools.count(1)

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: ProcessSpec) -> AsyncIterator[RunningProcess]:
        self._tree.folder(self._tree.start(spec.cwd))
        self.started.append(spec)
        chunks, ended = self._script(spec)
        takes_input = spec.interactive or spec.terminal is not None
        yield _ScriptedProcess(next(self._pids), chunks, ended, takes_input=takes_input)


class _ScriptedProcess:
    def __init__(
        self, pid: int, chunks: Sequence[ProcessChunk], ended: ProcessExit, *, takes_input: bool
    ) -> None:
        self.pid = pid
        self.sandbox = ended.sandbox
        self._chunks = list(chunks)
        self._ended = ended
        self._takes_input = takes_input
        self.written = b""

    async def output(self) -> AsyncIterator[ProcessChunk]:
        while self._chunks:
            yield self._chunks.pop(0)

    async def write(self, data: bytes) -> None:
        if not self._takes_input:
            raise input_closed()
        self.written += data

    async def close_input(self) -> None:
        self._takes_input = False

    async def wait(self) -> ProcessExit:
        return self._ended

    async def kill(self) -> None:
        self._chunks.clear()
        self._takes_input = False
