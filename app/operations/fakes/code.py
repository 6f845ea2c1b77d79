"""Code with scripted results; nothing runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from app.operations.protocols.code import CodeExit, CodeSpec, RunningCode
from app.operations.protocols.processes import ProcessChunk, ProcessExit


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """Output and exit of one piece of code."""

    chunks: tuple[ProcessChunk, ...] = ()
    ending: CodeExit = field(default_factory=lambda: CodeExit(ProcessExit(0)))


class FakeCode:
    """`CodeOperations` that answers with `script`; `specs` records the requests."""

    def __init__(self, script: Callable[[CodeSpec], ScriptedRun] | None = None) -> None:
        self._script = script or (lambda _: ScriptedRun())
        self.specs: list[CodeSpec] = []

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: CodeSpec) -> AsyncIterator[RunningCode]:
        self.specs.append(spec)
        yield _FakeRun(self._script(spec))


class _FakeRun:
    def __init__(self, run: ScriptedRun) -> None:
        self._run = run

    async def output(self) -> AsyncIterator[ProcessChunk]:
        for chunk in self._run.chunks:
            yield chunk

    async def wait(self) -> CodeExit:
        return self._run.ending
