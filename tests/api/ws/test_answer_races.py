"""A thousand questions, two clients that answer all of them at once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from tests.execution.lab import WRITES, AnyArgs, made
from tests.support.service import Running, serving, settings_for

SESSIONS, EACH = 20, 50
AT_ONCE = 50
PATIENCE_S = 600  # for a hang; a busy machine takes minutes


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    settings = settings_for(
        tmp_path,
        command_rate=100_000,
        command_burst=100_000,
        outbox_frames=100_000,
        outbox_bytes=64 << 20,
        max_pending_confirmations=EACH,
    )
    async with serving(settings) as service:
        yield service


class Racer:
    """A client that answers everything it is asked, as soon as it sees it."""

    def __init__(self, socket: Any, name: str) -> None:
        self._socket = socket
        self._name = name
        self.outcomes: Counter[str] = Counter()
        self.won: set[str] = set()
        self.answered: dict[str, str] = {}
        self._waiting: deque[dict[str, Any]] = deque()
        self._in_flight = 0

    async def race(self) -> None:
        """Until every question has been answered, by this one or the other."""
        resolved = 0
        while resolved < SESSIONS * EACH or sum(self.outcomes.values()) < SESSIONS * EACH:
            message = json.loads(await self._socket.recv())
            if message["type"] == "tool_confirmation_request":
                self._waiting.append(message)
                await self._send_on()
            elif message["type"] == "tool_confirmation_resolved":
                resolved += 1
            elif message["type"] == "ack" and message["ref"] in self.answered:
                self.won.add(self.answered[message["ref"]])
                await self._over("won")
            elif message["type"] == "error":
                await self._over(message["error"]["code"])

    async def _over(self, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self._in_flight -= 1
        await self._send_on()

    async def _send_on(self) -> None:
        """As many at a time as one connection may have under way."""
        while self._waiting and self._in_flight < AT_ONCE:
            self._in_flight += 1
            await self._answer(self._waiting.popleft())

    async def _answer(self, asked: dict[str, Any]) -> None:
        command_id = f"{self._name}_{asked['confirmation_id']}"
        self.answered[command_id] = asked["confirmation_id"]
        command = {
            "v": 1,
            "id": command_id,
            "type": "tool_confirmation_response",
            "session_id": asked["session_id"],
            "confirmation_id": asked["confirmation_id"],
            "option_id": "approve_once",
            "digest": asked["digest"],
        }
        await self._socket.send(json.dumps(command))


@pytest.mark.requirement("D-4")
async def test_of_a_thousand_calls_each_runs_at_most_once_and_none_is_lost(running: Running):
    ran: Counter[int] = Counter()

    async def send(args: AnyArgs, ctx: Any) -> str:
        ran[args.number] += 1
        return "sent"

    service = running.service
    service.registry.register(made(send, requires_confirmation=True, **WRITES))
    sessions = [running.session() for _ in range(SESSIONS)]
    async with running.connect() as first, running.connect() as second:
        for chat in (first, second):
            for session in sessions:
                await chat.command(type="subscribe", session_id=session.id)
        racers = [Racer(first.socket, "first"), Racer(second.socket, "second")]
        races = [asyncio.create_task(racer.race()) for racer in racers]
        runs = [
            await service.runs.call_tools(
                session,
                [
                    CallRequest(f"c{number}", "send", {"number": place * EACH + number})
                    for number in range(EACH)
                ],
                caller="websocket",
            )
            for place, session in enumerate(sessions)
        ]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*races, *(run.done for run in runs))
    total = SESSIONS * EACH
    assert len(ran) == total
    assert set(ran.values()) == {1}
    assert sum(racer.outcomes["won"] for racer in racers) == total
    assert sum(racer.outcomes["confirmation_already_resolved"] for racer in racers) == total
    assert racers[0].won.isdisjoint(racers[1].won)
    assert {run.done.result() for run in runs} == {"success"}
    rows = await service.db.transact(
        lambda transaction: transaction.fetch(
            "SELECT status, count(*), count(consumed_at) FROM confirmations GROUP BY status"
        )
    )
    assert rows == [("approved", total, total)]
