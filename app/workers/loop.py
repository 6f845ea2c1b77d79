"""Loop of a sub-agent: the rounds of its task, as decided by the worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.agents.delegation.frames import (
    AskModel,
    Begin,
    CallsDone,
    CallTools,
    FromWorker,
    ModelAnswer,
    TaskFinished,
    WorkerProtocolError,
)

Answer = ModelAnswer | CallsDone


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
