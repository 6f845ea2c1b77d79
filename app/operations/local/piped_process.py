"""Started process as seen by its user: output, input and end. Subclasses end it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass

from app.operations.local.inputs import InputPipe
from app.operations.local.pipes import OutputPipes, Stream
from app.operations.protocols.processes import ExitReason, ProcessChunk, ProcessExit, ProcessSpec

TERM_GRACE_S = 0.5
_DRAIN_GRACE_S = 0.2  # for a pipe held open after the program has ended


@dataclass(frozen=True, slots=True)
class Pipes:
    """Our ends of a process's descriptors.

    Attributes:
        stdin: negative for a process without input.
        stdout, stderr: a terminal has both in `stdout`.
    """

    stdin: int
    stdout: int
    stderr: int | None

    def outputs(self) -> dict[Stream, int]:
        if self.stderr is None:
            return {"stdout": self.stdout}
        return {"stdout": self.stdout, "stderr": self.stderr}


class PipedProcess(ABC):
    """`RunningProcess` over the pipes of a process; owns them."""

    def __init__(self, pipes: Pipes, spec: ProcessSpec) -> None:
        self._loop = asyncio.get_running_loop()
        self._input = InputPipe(
            pipes.stdin,
            spec.stdin or b"",
            interactive=spec.interactive or spec.terminal is not None,
            terminal=spec.terminal is not None,
        )
        self._pipes = OutputPipes(
            pipes.outputs(),
            limit=spec.limits.output_bytes,
            on_flood=lambda: self._over_limit("output"),
        )
        self._claimed = False
        self._waiting = 0
        self._exit: asyncio.Future[ProcessExit] = self._loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._reason: ExitReason | None = None

    def output(self) -> AsyncIterator[ProcessChunk]:
        """Yield the output, see the Protocol; ends shortly after the process, even if a child
        keeps a pipe open.
        """
        self._claimed = True
        return self._chunks()

    async def write(self, data: bytes) -> None:
        await self._input.write(data)

    async def close_input(self) -> None:
        await self._input.end()

    async def wait(self) -> ProcessExit:
        if not self._claimed:
            self._pipes.discard()
        self._waiting += 1
        try:
            return await asyncio.shield(self._exit)
        finally:
            self._waiting -= 1

    @abstractmethod
    async def kill(self) -> None:
        """See the Protocol; may be called repeatedly."""

    async def close(self) -> None:
        """Kill the process, and discard unread output."""
        try:
            await self.kill()
        finally:
            self._pipes.close()

    def _over_limit(self, reason: ExitReason) -> None:
        """End the tree in the background; `close` waits for it."""
        if self._exit.done() or self._ending is not None:
            return
        self._reason = self._reason or reason
        self._ending = asyncio.ensure_future(self.kill())

    def _settle(self, ended: ProcessExit) -> None:
        """Handle the end of the process: notify waiters, and let its output drain."""
        if not self._exit.done():
            self._exit.set_result(ended)
        self._input.close()
        self._pipes.finish()
        if not self._pipes.at_end:
            self._loop.call_later(_DRAIN_GRACE_S, self._pipes.cut)

    async def _chunks(self) -> AsyncIterator[ProcessChunk]:
        try:
            while (chunk := await self._pipes.next()) is not None:
                yield chunk
        finally:
            self._claimed = False
            if self._waiting:
                self._pipes.discard()
