"""One process and the task that owns it, from start until all its processes have ended."""

from __future__ import annotations

import asyncio
import codecs
import logging
from collections import deque
from collections.abc import Callable
from typing import Literal

from app.core.clock import Clock
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ToolFailed
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.domain.processes import OutputPage, ProcessRequest
from app.execution.background.log import OutputLog
from app.operations.local.threads import to_end
from app.operations.process_errors import input_closed
from app.operations.protocols.processes import (
    ProcessExit,
    ProcessOperations,
    RunningProcess,
)
from app.operations.protocols.sandbox import SandboxReport
from app.toolkit.context import Output

log = logging.getLogger(__name__)

Stream = Literal["stdout", "stderr"]
QUEUED = 4
_LOST = ProcessExit(137, 9, "lost")


class OwnedProcess:
    """`SessionProcess` with its own task that reads, publishes and stores the output.

    Args:
        on_end: called once, when all its processes have ended.
    """

    def __init__(
        self,
        request: ProcessRequest,
        *,
        output: OutputLog,
        redactor: Redactor,
        clock: Clock,
        on_end: Callable[[OwnedProcess], None],
    ) -> None:
        self.id = new_id("proc")
        self.seen = 0
        self._request = request
        self._log = output
        self._text = ShownText(redactor)
        self._clock = clock
        self._on_end = on_end
        self._started_at = clock.monotonic()
        self.ended_at: float | None = None
        self._running: RunningProcess | None = None
        self._exit: asyncio.Future[ProcessExit] = asyncio.get_running_loop().create_future()
        self._follower = Follower()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def request(self) -> ProcessRequest:
        return self._request

    @property
    def size(self) -> int:
        return self._log.size

    @property
    def age_s(self) -> float:
        until = self._clock.monotonic() if self.ended_at is None else self.ended_at
        return until - self._started_at

    @property
    def exit(self) -> ProcessExit | None:
        return self._exit.result() if self._exit.done() else None

    @property
    def sandbox(self) -> SandboxReport:
        if self._exit.done():
            return self._exit.result().sandbox
        return _LOST.sandbox if self._running is None else self._running.sandbox

    async def start(self, processes: ProcessOperations) -> None:
        """Start the process; if the caller is cancelled, end it.

        Raises:
            TollgateError: see `ProcessOperations.open`.
        """
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        started.add_done_callback(lambda made: made.cancelled() or made.exception())
        self._task = asyncio.create_task(self._own(processes, started))
        try:
            await asyncio.shield(started)
        except asyncio.CancelledError:
            await self.kill()
            raise

    async def next_output(self) -> Output | None:
        return await self._follower.next()

    def unfollow(self) -> None:
        self._follower.leave()

    async def wait(self) -> ProcessExit:
        return await asyncio.shield(self._exit)

    async def news(self) -> None:
        if not self._exit.done():
            await self._news.wait()

    async def read(self, offset: int, limit: int) -> OutputPage:
        start = max(0, min(offset, self.size))
        data = await self._log.read(start, limit)
        # A page may start or end inside a character; the partial bytes are dropped.
        begin = _continuation(data) if start else 0
        end = _whole(data) if start + len(data) < self.size else len(data)
        text = data[begin:end].decode("utf-8", "replace")
        return OutputPage(text, start + begin, start + end)

    async def write(self, data: bytes) -> None:
        if self._running is None or self._exit.done():
            raise input_closed()
        await self._running.write(data)

    async def close_input(self) -> None:
        if self._running is not None and not self._exit.done():
            await self._running.close_input()

    async def kill(self) -> None:
        self.unfollow()
        task = self._task
        if task is not None and not task.done():
            # Shielded: a second cancellation must not leave the process half ended.
            await to_end(self._kill(task))

    async def _kill(self, task: asyncio.Task[None]) -> None:
        if self._running is None:
            task.cancel()
        else:
            await self._running.kill()
        await asyncio.wait({task})

    def close(self) -> None:
        """Discard the output of an ended process."""
        self._log.close()

    async def _own(self, processes: ProcessOperations, started: asyncio.Future[None]) -> None:
        ended = _LOST
        try:
            with ErrorBoundary() as held:
                ended = await self._run(processes, started)
            if held.error is not None and not started.done():
                started.set_exception(held.error)
            elif held.error is not None:
                log.error("process %s was lost", self.id, exc_info=held.error)
        finally:
            if not started.done():
                started.set_exception(service_stops())
            self._end(ended)

    async def _run(
        self, processes: ProcessOperations, started: asyncio.Future[None]
    ) -> ProcessExit:
        async with processes.open(self._request.spec) as running:
            self._running = running
            if not started.done():
                started.set_result(None)
            tap = self._request.tap
            async for chunk in running.output():
                data = chunk.data
                if tap is not None and chunk.stream == "stdout":
                    data = tap.feed(data)
                await self._show(chunk.stream, self._text.add(chunk.stream, data))
            if tap is not None:
                await self._show("stdout", self._text.add("stdout", tap.finish()))
            await self._show("stdout", self._text.finish("stdout"))
            await self._show("stderr", self._text.finish("stderr"))
            return await running.wait()

    async def _show(self, stream: Stream, text: str) -> None:
        if not text:
            return
        await self._log.append(text.encode())
        self._tell()
        await self._follower.put(Output(text, stream))

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _end(self, ended: ProcessExit) -> None:
        self.ended_at = self._clock.monotonic()
        self._exit.set_result(ended)
        self._follower.finish()
        self._tell()
        self._on_end(self)


class Follower:
    """Hands output to the call that waits for it, and makes the program wait for the call.

    One writer, one reader, a few pieces between them.
    """

    def __init__(self) -> None:
        self._pieces: deque[Output] = deque()
        self._is_over = False
        self._is_gone = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, piece: Output) -> None:
        """Hand over; waits for room, unless the reader has left."""
        while len(self._pieces) >= QUEUED and not self._is_gone:
            self._room.clear()
            await self._room.wait()
        if not self._is_gone:
            self._pieces.append(piece)
            self._news.set()

    async def next(self) -> Output | None:
        """The next piece; None after the last one, and for a reader that has left."""
        while not self._pieces:
            if self._is_over or self._is_gone:
                return None
            self._news.clear()
            await self._news.wait()
        self._room.set()
        return self._pieces.popleft()

    def finish(self) -> None:
        """Nothing comes any more."""
        self._is_over = True
        self._news.set()

    def leave(self) -> None:
        """Nobody reads any more; harmless when repeated."""
        self._is_gone = True
        self._pieces.clear()
        self._room.set()
        self._news.set()


class ShownText:
    """Decodes each stream as it comes and masks secrets, also those that come in two pieces."""

    def __init__(self, redactor: Redactor) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._redactor = redactor
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}
        self._held: dict[Stream, str] = {"stdout": "", "stderr": ""}

    def add(self, stream: Stream, data: bytes) -> str:
        """What of the stream may be shown now."""
        text = self._held[stream] + self._decoders[stream].decode(data)
        shown, self._held[stream] = self._redactor.passing(text)
        return shown

    def finish(self, stream: Stream) -> str:
        """What was held back, at the stream's end."""
        text = self._held[stream] + self._decoders[stream].decode(b"", final=True)
        self._held[stream] = ""
        return self._redactor.text(text)


def _continuation(data: bytes) -> int:
    """Return the number of leading bytes that belong to a previous character."""
    return next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), min(4, len(data)))


def _whole(data: bytes) -> int:
    """Return the end of the last complete character."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if length == back else len(data) - back
    return len(data)


def service_stops() -> ToolFailed:
    return ToolFailed("The service is stopping and starts nothing new", code="stopping")


def process_not_found(process_id: str) -> ToolFailed:
    return ToolFailed(
        f"Process {process_id[:60]!r} not found in this session; use the action `list`",
        code="process_not_found",
        process_id=process_id[:60],
    )
