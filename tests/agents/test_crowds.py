"""Many runs that could continue together leave room for other work between them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

from app.agents.content import user_content
from app.agents.models.protocol import Completed, ModelEvent, ModelRequest, TokenUsage
from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core.background import background
from tests.execution.lab import PATIENCE_S, AnyArgs, made

CROWD = 40
AT_ONCE = 2
"""Runs that may take a step in one turn of the loop."""


class Turns:
    """Counter of the turns of the event loop."""

    def __init__(self) -> None:
        self.number = 0

    async def count(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)


class Together:
    """Model that answers a crowd in one turn of the loop: a call first, then a text."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._go = asyncio.Event()
        self.asked: list[int] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        last = request.messages[-1]["content"]
        if any(block["type"] == "tool_result" for block in last):
            yield Completed([{"type": "text", "text": "ok"}], "end_turn", TokenUsage(1, 1), "m")
            return
        self.asked.append(self._turns.number)
        if len(self.asked) == CROWD:
            self._go.set()
        await self._go.wait()
        use = {"type": "tool_use", "id": f"t{len(self.asked)}", "name": "step", "input": {}}
        yield Completed([use], "tool_use", TokenUsage(1, 1), "m")

    async def aclose(self) -> None:
        return None


async def test_requests_and_calls_of_a_crowd_are_spread_over_turns_of_the_loop(settings: Settings):
    turns = Turns()
    model, called = Together(turns), list[int]()

    async def step(args: AnyArgs, ctx: Any) -> str:
        called.append(turns.number)
        return "done"

    async with open_service(settings, model=model) as service, background(turns.count()):
        service.registry.register(made(step))
        ends = []
        for _ in range(CROWD):
            session = service.sessions.create(user_id="ann", project_id="default")
            await service.runs.send_message(session, user_content("go"))
            run = service.runs.active(session.id)
            assert run is not None
            ends.append(run.done)
        async with asyncio.timeout(PATIENCE_S):
            assert await asyncio.gather(*ends) == ["success"] * CROWD
    assert (len(model.asked), len(called)) == (CROWD, CROWD)
    assert max(Counter(model.asked).values()) <= AT_ONCE
    assert max(Counter(called).values()) <= AT_ONCE
