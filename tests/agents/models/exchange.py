"""One question, asked of a model the way the agent loop does it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from app.agents.models.protocol import Completed, ModelClient, ModelEvent, ModelRequest
from app.core.errors import ModelFailed

KEY = "sk-test-9f8e7d"
ASK = ModelRequest(
    model="claude-test",
    max_tokens=1000,
    messages=[{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
)


class Waits:
    """Stands in for sleeping: notes how long, and does not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def ask(model: ModelClient, request: ModelRequest = ASK) -> list[ModelEvent]:
    async with asyncio.timeout(60), aclosing(model.stream(request)) as events:
        return [event async for event in events]


async def answer(model: ModelClient, request: ModelRequest = ASK) -> Completed:
    last = (await ask(model, request))[-1]
    assert isinstance(last, Completed)
    return last


async def failure(model: ModelClient) -> tuple[list[ModelEvent], ModelFailed]:
    """What was yielded before the failure, and the failure."""
    seen: list[ModelEvent] = []

    async def consume() -> None:
        async with asyncio.timeout(60), aclosing(model.stream(ASK)) as events:
            async for event in events:
                seen.append(event)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ModelFailed) as caught:
        await consume()
    assert KEY not in str(caught.value)
    assert KEY not in str(caught.value.details)
    return seen, caught.value
