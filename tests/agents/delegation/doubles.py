"""Workers that live in this process: an honest loop, and what a dishonest one may do instead."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.agents.delegation.frames import (
    AskModel,
    Begin,
    CallsDone,
    CallTools,
    Execute,
    Executed,
    FromWorker,
    ModelAnswer,
    TaskFinished,
    ToWorker,
)
from app.agents.delegation.ports import WorkerProcess, WorkerScope
from app.core.errors import ToolFailed

Script = Callable[["Double"], Awaitable[None]]


class Double:
    """A `WorkerProcess` that a script plays."""

    def __init__(self, place: WorkerScope, tools: frozenset[str]) -> None:
        self.place = place
        self.tools = tools
        self.got: list[ToWorker] = []
        self.is_alive = True
        self._from_service: asyncio.Queue[ToWorker] = asyncio.Queue()
        self._said: asyncio.Queue[FromWorker | BaseException | None] = asyncio.Queue()

    @property
    def pid(self) -> int:
        return os.getpid()

    async def send(self, frame: ToWorker) -> None:
        if not self.is_alive:
            raise ToolFailed("It is gone", code="worker_lost")
        self.got.append(frame)
        self._from_service.put_nowait(frame)

    async def frames(self) -> AsyncIterator[FromWorker]:
        while (said := await self._said.get()) is not None:
            if isinstance(said, BaseException):
                raise said
            yield said

    async def ended(self) -> str:
        return "killed by signal 9"

    def say(self, said: FromWorker | BaseException) -> None:
        self._said.put_nowait(said)

    def die(self) -> None:
        self.is_alive = False
        self._said.put_nowait(None)

    async def next(self) -> ToWorker:
        return await self._from_service.get()


async def honest(worker: Double) -> None:
    """The loop as it should be; `read_file` is executed by telling what was asked."""
    begin = await worker.next()
    assert isinstance(begin, Begin)
    for number in range(begin.first_round, begin.max_rounds + 1):
        is_last = number == begin.max_rounds and begin.last_round_without_tools
        worker.say(AskModel(round=number, with_tools=not is_last))
        answer = await worker.next()
        assert isinstance(answer, ModelAnswer)
        ids = [block["id"] for block in answer.content if block["type"] == "tool_use"]
        if not ids and not answer.heard:
            worker.say(TaskFinished(reason="answered"))
            return
        if ids:
            worker.say(CallTools(round=number, ids=ids))
            await execute_until_done(worker)
    worker.say(TaskFinished(reason="max_rounds"))


async def execute_until_done(worker: Double) -> None:
    while not isinstance(frame := await worker.next(), CallsDone):
        if isinstance(frame, Execute):
            worker.say(
                Executed(
                    execution_id=frame.execution_id,
                    success=True,
                    data={"ran": frame.tool},
                    text=f"{frame.tool} ran in the worker with {sorted(frame.arguments)}",
                )
            )


class Doubles:
    """`Workers` that hands out doubles, each played by `script`."""

    def __init__(self, script: Script = honest, tools: frozenset[str] | None = None) -> None:
        self.script = script
        self.tools = frozenset({"read_file"}) if tools is None else tools
        self.taken: list[Double] = []
        self.most = 0
        self._now = 0

    @asynccontextmanager
    async def take(self, place: WorkerScope) -> AsyncIterator[WorkerProcess]:
        worker = Double(place, self.tools)
        self.taken.append(worker)
        self._now += 1
        self.most = max(self.most, self._now)
        playing = asyncio.create_task(self._play(worker))
        try:
            yield worker
        finally:
            self._now -= 1
            playing.cancel()
            await asyncio.wait({playing})

    async def _play(self, worker: Double) -> None:
        await self.script(worker)

    async def close(self) -> None:
        return None
