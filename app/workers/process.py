"""Main program of a worker process: one task, with frames on its standard streams."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import NoReturn

from app.agents.delegation.frames import (
    MAX_FRAME,
    AskModel,
    Begin,
    CallsDone,
    CallTools,
    Execute,
    FromWorker,
    ModelAnswer,
    StopExecution,
    TaskFinished,
    ToWorker,
    WorkerProtocolError,
    WorkerReady,
    encode,
    to_worker,
)
from app.core.error_boundary import ErrorBoundary
from app.operations.protocols.operations import Operations
from app.workers.executions import Executions
from app.workers.local_tools import local_operations, local_services, local_tools
from app.workers.worker_setup import WorkerSetup

_log = logging.getLogger(__name__)

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_DONE, _FAILED = 0, 3

Answer = ModelAnswer | CallsDone


def main() -> None:
    """Work on one task until the input ends; the first argument is a `WorkerSetup`."""
    frames = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)  # output of libraries must not appear between frames
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(_work(WorkerSetup.decode(sys.argv[1]), frames))


def _end(status: int) -> NoReturn:
    """Exit immediately: threads may still run, and started processes end with this one."""
    sys.stderr.flush()
    os._exit(status)


async def _work(setup: WorkerSetup, frames: int) -> NoReturn:
    with ErrorBoundary() as held:
        worker = _Worker(setup, await _writer(frames))
        await worker.introduce()
        reader = await _reader()
        while line := await _line(reader):
            worker.take(to_worker(line))
    if held.error is not None:
        _give_up(held.error)
    _end(_DONE)


def _give_up(error: BaseException) -> NoReturn:
    """Exit with an error, since the service would wait forever."""
    _log.error("this worker cannot continue", exc_info=error)
    _end(_FAILED)


class _Worker:
    """Handler of the service's frames.

    Args:
        writer: stream of frames to the service.
    """

    def __init__(self, setup: WorkerSetup, writer: asyncio.StreamWriter) -> None:
        self._setup = setup
        self._writer = writer
        self._tools = local_tools()
        self._executions = Executions(self._tools, local_services(setup), self.send)
        self._answers: asyncio.Queue[Answer] = asyncio.Queue()
        self._operations: Operations | None = None
        self._rounds: asyncio.Task[None] | None = None

    async def introduce(self) -> None:
        await self.send(WorkerReady(pid=os.getpid(), tools=sorted(self._tools)))

    async def send(self, frame: FromWorker) -> None:
        self._writer.write(encode(frame))
        await self._writer.drain()

    def take(self, frame: ToWorker) -> None:
        if isinstance(frame, Execute):
            self._executions.begin(frame, self._operations)
        elif isinstance(frame, StopExecution):
            self._executions.stop(frame.execution_id)
        elif isinstance(frame, ModelAnswer | CallsDone):
            self._answers.put_nowait(frame)
        else:
            self._begin(frame)

    def _begin(self, frame: Begin) -> None:
        if frame.root is not None:
            self._operations = local_operations(frame.root, self._setup)
        rounds = go_through_rounds(frame, self.send, self._answers.get)
        self._rounds = asyncio.create_task(rounds)
        self._rounds.add_done_callback(_leave_when_lost)


def _leave_when_lost(rounds: asyncio.Task[None]) -> None:
    error = None if rounds.cancelled() else rounds.exception()
    if error is not None:
        _give_up(error)


async def _reader() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_FRAME)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(_INPUT, "rb", closefd=False)
    )
    return reader


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line; empty at the end of the input, even after an incomplete line."""
    line = await reader.readline()
    return line if line.endswith(b"\n") else b""


async def _writer(frames: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(frames, "wb", buffering=0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def go_through_rounds(
    begin: Begin,
    send: Callable[[FromWorker], Awaitable[None]],
    heard: Callable[[], Awaitable[Answer]],
) -> None:
    """Ask the model, request its calls, and repeat, until there is an answer or no round is left.

    Args:
        send: sends a frame to the service.
        heard: returns the next frame of the service.

    Raises:
        WorkerProtocolError: the service sent an unexpected frame.
    """
    for number in range(begin.first_round, begin.max_rounds + 1):
        is_last = number == begin.max_rounds
        with_tools = not (is_last and begin.last_round_without_tools)
        await send(AskModel(round=number, with_tools=with_tools))
        answer = await heard()
        if not isinstance(answer, ModelAnswer) or answer.round != number:
            raise WorkerProtocolError(f"The service did not answer round {number}")
        calls = _calls(answer)
        if calls:
            await send(CallTools(round=number, ids=calls))
            done = await heard()
            if not isinstance(done, CallsDone) or done.round != number:
                raise WorkerProtocolError(f"The service did not run the calls of round {number}")
        elif not answer.heard:
            await send(TaskFinished(reason="answered"))
            return
    await send(TaskFinished(reason="max_rounds"))


def _calls(answer: ModelAnswer) -> list[str]:
    if answer.stop_reason != "tool_use":
        return []
    return [block["id"] for block in answer.content if block.get("type") == "tool_use"]
