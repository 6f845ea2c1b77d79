"""Processes that do what a test says; nothing is started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from app.operations.protocols.processes import ProcessChunk, ProcessExit, ProcessSpec
from app.operations.protocols.sandbox import SandboxReport


@dataclass
class ScriptedProcess:
    """Writes its chunks, then ends; with `hangs` it ends only when it is killed."""

    chunks: tuple[ProcessChunk, ...] = ()
    code: int = 0
    hangs: bool = False
    ended: ProcessExit | None = None
    pid: int = 4242
    sandbox: SandboxReport = field(default_factory=lambda: SandboxReport("bash", ("seccomp",)))
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    async def output(self) -> AsyncIterator[ProcessChunk]:
        for chunk in self.chunks:
            yield chunk
        if self.hangs:
            self.waiting.set()
            await self.killed.wait()

    async def wait(self) -> ProcessExit:
        return self.ended or ProcessExit(self.code)

    async def write(self, data: bytes) -> None:
        raise AssertionError("nothing is typed here")

    async def close_input(self) -> None:
        return None

    async def kill(self) -> None:
        self.killed.set()


@dataclass
class ScriptedProcesses:
    """Starts one scripted process for every spec, and keeps the specs."""

    process: ScriptedProcess
    specs: list[ProcessSpec] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, spec: ProcessSpec) -> AsyncIterator[ScriptedProcess]:
        self.specs.append(spec)
        try:
            yield self.process
        finally:
            await self.process.kill()
