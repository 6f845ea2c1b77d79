"""Service side of one worker process: sent and received frames, and its end."""

from __future__ import annotations

import asyncio
import logging
import os
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from app.agents.delegation.frames import (
    MAX_FRAME,
    FromWorker,
    ToWorker,
    WorkerProtocolError,
    WorkerReady,
    encode,
    from_worker,
)
from app.core.errors import ToolFailed
from app.operations.local.threads import to_end
from app.operations.protocols.processes import (
    STOP_REASONS,
    ExitReason,
    ProcessExit,
    RunningProcess,
)

_log = logging.getLogger(__name__)

_ERROR_BYTES = 8 << 10
_READY_S = 30.0
_STOP_REASONS: dict[ExitReason, str] = {
    **STOP_REASONS,
    "killed": "the service stopped it",
    "lost": "its sandbox process was killed",
}


class LineBuffer:
    """Buffer for the incomplete last line."""

    def __init__(self, most: int = MAX_FRAME) -> None:
        self._most = most
        self._begun = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that end in `data`, with their line endings.

        Raises:
            WorkerProtocolError: a line exceeds the size of a frame.
        """
        start = 0
        while start < len(data):
            end = data.find(b"\n", start) + 1
            self._begun += data[start : end or len(data)]
            if len(self._begun) > self._most:
                self._begun.clear()
                raise WorkerProtocolError(f"A worker sent a line longer than {self._most} bytes")
            if not end:
                return
            line = bytes(self._begun)
            self._begun.clear()
            yield line
            start = end


class Tail:
    """Last bytes of a stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = b""

    def add(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-self._most :]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()


class ConfinedWorker:
    """`WorkerProcess` for a sandboxed process; `close` ends that process.

    Args:
        let_go: ends the process and removes its resources.
    """

    def __init__(self, process: RunningProcess, let_go: Callable[[], Awaitable[None]]) -> None:
        self._process = process
        self._let_go = let_go
        self._tools: frozenset[str] = frozenset()
        self._errors = Tail(_ERROR_BYTES)
        self._frames: asyncio.Queue[FromWorker | None] = asyncio.Queue()
        self._wrong: WorkerProtocolError | None = None
        self._writing: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())
        self._closing: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def tools(self) -> frozenset[str]:
        return self._tools

    @property
    def is_over(self) -> bool:
        """Return whether it has ended, even if the loop has not been notified yet."""
        return self._reading.done() or _has_ended(self.pid)

    async def ready(self) -> None:
        """Wait until it reports that it is ready.

        Raises:
            ToolFailed: code `worker_lost`.
        """
        try:
            async with asyncio.timeout(_READY_S):
                frame = await self._next()
        except TimeoutError:
            raise self._not_ready(f"it was not ready within {_READY_S:g} s") from None
        if self._wrong is not None:
            raise self._not_ready(self._wrong.message)
        if frame is None:
            raise self._not_ready(await self.ended())
        if not isinstance(frame, WorkerReady):
            raise self._not_ready(f"it sent {frame.type} first")
        self._tools = frozenset(frame.tools)

    async def send(self, frame: ToWorker) -> None:
        """Send a frame; a frame whose sender is cancelled is still sent completely.

        Half a frame would corrupt all later ones. See `WorkerProcess.send`.
        """
        writing = asyncio.create_task(self._process.write(encode(frame)))
        self._writing.add(writing)
        writing.add_done_callback(self._written)
        try:
            await asyncio.shield(writing)
        except ToolFailed:
            raise ToolFailed(
                "The sub-agent's process no longer accepts input", code="worker_lost"
            ) from None

    async def frames(self) -> AsyncIterator[FromWorker]:
        """See `WorkerProcess.frames`."""
        while (frame := await self._next()) is not None:
            yield frame
        if self._wrong is not None:
            raise self._wrong

    async def ended(self) -> str:
        """See `WorkerProcess.ended`."""
        ended = await self._process.wait()
        return "it sent an invalid frame" if self._wrong is not None else _in_words(ended)

    async def close(self) -> None:
        """End it with all its processes, even if cancelled; may be called repeatedly."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await to_end(self._closing)

    async def _close(self) -> None:
        was_over = self._reading.done()
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self._let_go()
        if self._writing:
            await asyncio.wait(set(self._writing))
        if not was_over:
            self._frames.put_nowait(None)
        if self._errors.text():
            # In one line: it could imitate lines of our log.
            _log.warning("worker %s printed: %r", self.pid, self._errors.text())

    async def _read(self) -> None:
        """Read its frames one at a time: unread frames block the worker."""
        lines = LineBuffer()
        try:
            async for chunk in self._process.output():
                if chunk.stream == "stderr":
                    self._errors.add(chunk.data)
                    continue
                for line in lines.feed(chunk.data):
                    await self._frames.join()
                    self._frames.put_nowait(from_worker(line))
        except WorkerProtocolError as error:
            self._wrong = error
            await self._process.kill()
        self._frames.put_nowait(None)

    async def _next(self) -> FromWorker | None:
        frame = await self._frames.get()
        self._frames.task_done()
        if frame is None:
            self._frames.put_nowait(None)  # later calls receive the same error
        return frame

    def _written(self, writing: asyncio.Task[None]) -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # read, since its sender may be gone

    def _not_ready(self, why: str) -> ToolFailed:
        return ToolFailed(f"The sub-agent's process failed to start: {why}", code="worker_lost")


def _has_ended(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return True  # also if its state cannot be determined: another worker is started then
    ends = select.poll()  # select does not support descriptors above a thousand
    ends.register(descriptor, select.POLLIN)
    try:
        return bool(ends.poll(0))
    finally:
        os.close(descriptor)


def _in_words(ended: ProcessExit) -> str:
    if ended.reason in _STOP_REASONS:
        return _STOP_REASONS[ended.reason]
    if ended.signal is not None:
        return f"it was ended by signal {ended.signal}"
    return f"it exited with code {ended.code}"
