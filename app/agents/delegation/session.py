"""Session of one sub-agent, from first to last frame: the service's side of the pipe.

The worker chooses the next step of its loop; everything it sends is checked against the service's
state. It sends rounds and IDs, never arguments, routes, models or texts, so there is nothing to
forge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from app.agents.delegation.conversation import Conversation
from app.agents.delegation.frames import (
    AskModel,
    Begin,
    CallsDone,
    CallTools,
    Executed,
    FromWorker,
    ModelAnswer,
    OutputFrame,
    Reported,
    TaskFinished,
    WorkerProtocolError,
)
from app.agents.delegation.model import Parent, SubagentTask
from app.agents.delegation.ports import WorkerProcess
from app.agents.delegation.repository import DelegationRepository
from app.agents.delegation.task_calls import TaskCalls
from app.agents.model_request import call_of
from app.agents.sessions import Block
from app.core.errors import ToolFailed
from app.execution.context import Project
from app.execution.outcome import CallOutcome
from app.toolkit.context import Progress

T = TypeVar("T")
Execute = Callable[..., Awaitable[None]]

REPLY_S = 30.0
"""Seconds for a worker to choose its next step, which needs no computation."""
_END_S = 2.0
_MAX_SHOWN = 2000


class SubagentSession:
    """Drives one worker through one task; the results are stored in the task."""

    def __init__(
        self,
        task: SubagentTask,
        parent: Parent,
        *,
        worker: WorkerProcess,
        project: Project | None,
        conversation: Conversation,
        calls: TaskCalls,
        repository: DelegationRepository,
    ) -> None:
        """Create a session; `repository` stores the progress of the task for a later process."""
        self._repository = repository
        self._calls = calls
        self._task = task
        self._parent = parent
        self._worker = worker
        self._project = project
        self._conversation = conversation
        self._inbox: asyncio.Queue[AskModel | CallTools | TaskFinished] = asyncio.Queue(1)
        self._uses: list[Block] = task.uses if task.suspended is not None else []

    async def run(self) -> bool:
        """Run the task; False if the rounds were used up before the model had answered.

        Raises:
            ToolFailed: code `worker_lost` or `worker_hung`.
            WorkerProtocolError: it sent an unexpected frame.
            ModelFailed, BudgetExceeded: see `Conversation.ask`.
        """
        if self._task.suspended is not None and self._task.rounds >= self._task.limits.max_rounds:
            # Results would be discarded, and a worker would have nothing to do.
            await self._take_up()
            return False
        reading = asyncio.create_task(self._read())
        try:
            self._task.own.attach(self._worker)
            await self._unless_lost(reading, self._worker.send(self._begin()))
            if self._task.suspended is not None:
                await self._unless_lost(reading, self._take_up())
            while True:
                if self._inbox.empty():
                    frame = await self._unless_lost(reading, self._next())
                else:  # received before its end
                    frame = self._inbox.get_nowait()
                if isinstance(frame, TaskFinished):
                    return self._finished(frame)
                await self._unless_lost(reading, self._go_on(frame))
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, ToolFailed, WorkerProtocolError):
                await reading
            self._task.own.lost("The sub-agent's process was stopped")

    def _begin(self) -> Begin:
        limits = self._task.limits
        return Begin(
            task_id=self._task.id,
            max_rounds=limits.max_rounds,
            first_round=self._task.rounds + 1,
            last_round_without_tools=limits.last_round_without_tools,
            root=self._project.root if self._project else None,
        )

    async def _read(self) -> None:
        """Receive all frames of the worker until it ends."""
        async for frame in self._worker.frames():
            await self._take(frame)

    async def _take(self, frame: FromWorker) -> None:
        if isinstance(frame, OutputFrame | Reported | Executed):
            await self._task.own.take(frame)
        elif isinstance(frame, AskModel | CallTools | TaskFinished) and not self._inbox.full():
            self._inbox.put_nowait(frame)
        else:
            raise WorkerProtocolError(f"A worker sent {frame.type} out of turn")

    async def _next(self) -> AskModel | CallTools | TaskFinished:
        try:
            async with asyncio.timeout(REPLY_S):
                return await self._inbox.get()
        except TimeoutError:
            raise ToolFailed(
                f"The sub-agent's process did not respond for {REPLY_S:g} s and was stopped",
                code="worker_hung",
            ) from None

    async def _unless_lost(self, reading: asyncio.Task[None], step: Coroutine[Any, Any, T]) -> T:
        """Run a step, but not on behalf of an ended worker."""
        doing = asyncio.create_task(step)
        try:
            await asyncio.wait({doing, reading}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            self._task.own.lost("The sub-agent's process has ended")
            why = reading.exception()
            raise why or await self._lost()
        finally:
            if not doing.done():
                doing.cancel()
                await asyncio.wait({doing})

    async def _lost(self) -> ToolFailed:
        how = "it closed its end"
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                how = await self._worker.ended()
        return ToolFailed(f"The sub-agent's process ended early: {how}", code="worker_lost")

    async def _go_on(self, frame: AskModel | CallTools) -> None:
        if isinstance(frame, AskModel):
            await self._ask(frame)
        else:
            await self._call(frame)

    async def _ask(self, frame: AskModel) -> None:
        task, limits = self._task, self._task.limits
        is_open = not self._uses and not task.is_answered
        in_turn = is_open and frame.round == task.rounds + 1 <= limits.max_rounds
        if not in_turn:
            raise WorkerProtocolError(f"A worker requested round {frame.round} out of turn")
        task.rounds += 1
        task.is_asking = True
        await self._tell(f"round {task.rounds} of {limits.max_rounds}")
        is_last = task.rounds == limits.max_rounds
        with_tools = frame.with_tools and not (is_last and limits.last_round_without_tools)
        completed, task.message_id = await self._conversation.ask(with_tools=with_tools)
        task.is_asking = False
        content = list(completed.content)
        self._uses = [block for block in content if block.get("type") == "tool_use"]
        if self._uses and not with_tools:
            # The model had to answer: its calls are not run.
            self._conversation.answered(self._uses, {})
            self._uses = []
            content = [block for block in content if block.get("type") != "tool_use"]
        heard = bool(task.unheard) and not self._uses and not is_last
        task.is_answered = not self._uses and not heard
        # Stored in the commit that contains the cost of the request.
        self._repository.save(task)
        shown = [_shown(block) for block in content if block.get("type") in ("text", "tool_use")]
        await self._worker.send(
            ModelAnswer(
                round=task.rounds,
                content=shown,
                stop_reason=completed.stop_reason,
                heard=heard,
            )
        )

    async def _call(self, frame: CallTools) -> None:
        uses, task = self._uses, self._task
        expected = [use["id"] for use in uses]
        if frame.round != task.rounds or not uses or sorted(frame.ids) != sorted(expected):
            raise WorkerProtocolError("A worker made a call that the model did not request")
        requests = [call_of(use) for use in uses]
        await self._tell(", ".join(dict.fromkeys(request.name for request in requests)))
        place = (task, self._parent, self._project)
        finished = await self._answer(partial(self._calls.run, *place, requests))
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "is_error": call_id not in finished or not finished[call_id].success,
            }
            for call_id in expected
        ]
        await self._worker.send(CallsDone(round=task.rounds, results=results))

    async def _take_up(self) -> None:
        """Continue calls that asked for confirmation before the service was started."""
        batch, self._task.suspended = self._task.suspended, None
        assert batch is not None
        await self._answer(partial(self._calls.resume, batch))

    async def _answer(self, execute: Execute) -> dict[str, CallOutcome]:
        """Run the calls of a round and store their results, unless left to the next process."""
        task = self._task
        finished: dict[str, CallOutcome] = {}
        try:
            await execute(finished=finished)
        finally:
            if not self._calls.is_suspended(task):
                self._conversation.answered(self._uses, finished)
                self._note(finished)
        self._uses = []
        # Only now: one of the calls may crash the service each time.
        task.tries = 0
        self._repository.save(task)
        # Results must be stored before the next request, which depends on them.
        await self._repository.flush()
        return finished

    def _note(self, finished: dict[str, CallOutcome]) -> None:
        """Record the calls for observers of the task."""
        routes = self._task.routes
        self._task.calls += [
            {
                "tool_call_id": outcome.request.id,
                "operation_id": outcome.operation_id,
                "tool": outcome.tool_name,
                "status": outcome.status,
                "route": routes.get(outcome.tool_name, "disabled"),
            }
            for outcome in finished.values()
        ]

    def _finished(self, frame: TaskFinished) -> bool:
        """Return whether the model has answered, regardless of the worker's claim."""
        if self._uses:
            raise WorkerProtocolError("A worker ended without making all its calls")
        task = self._task
        if not task.is_answered and task.rounds < task.limits.max_rounds:
            raise WorkerProtocolError(f"A worker ended in round {task.rounds} without an answer")
        return task.is_answered

    async def _tell(self, message: str) -> None:
        """Send a message to the batch's waiter."""
        task = self._task
        if self._parent.report is not None:
            most = task.limits.max_rounds
            progress = Progress(task.spec.label, message, task.rounds, most, "rounds")
            await self._parent.report(progress)


def _shown(block: Block) -> Block:
    """Return the parts of a block that a worker needs: of a call, not its arguments."""
    if block.get("type") == "text":
        return {"type": "text", "text": block.get("text", "")[:_MAX_SHOWN]}
    return {"type": "tool_use", "id": block["id"], "name": block.get("name", "")}
