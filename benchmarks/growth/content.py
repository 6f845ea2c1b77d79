"""Content of the sessions: what users write, what the model answers, and when."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from app.agents.models.protocol import (
    Completed,
    ModelEvent,
    ModelRequest,
    ModelTextDelta,
    TokenUsage,
)
from app.core.ids import new_id
from app.execution.calls import CallRequest
from benchmarks.growth.tools import NOTE, SEND

AGENTS = ("planner", "researcher", "reviewer", "writer")
USERS = 10
HIT = "invoice"
"""Word in the message of every tenth chat."""
MISS = "zeppelin"
"""Word in no message."""
_TOPICS = ("delivery", "address", "discount", "reminder", "contract", "return", "offer")
_ANSWER = (
    "Both notes are recorded. The order is complete, the customer has been informed, and the "
    "next step is due at the end of the week. Nothing else is open for this order."
)
_USAGE = (TokenUsage(1800, 120, 1200), TokenUsage(2100, 60, 1900))


class PastClock:
    """System clock that runs in the past, so that sessions spread over a period.

    Both times move together, as if the period between two moves had passed.
    """

    def __init__(self, seconds_ago: float) -> None:
        self._before = self._ago = seconds_ago

    def move(self, seconds_ago: float) -> None:
        """Set how far in the past it runs; never farther than before."""
        self._ago = min(seconds_ago, self._ago)

    def time(self) -> float:
        return time.time() - self._ago

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time(), UTC)

    def monotonic(self) -> float:
        return time.monotonic() + self._before - self._ago


class NoteModel:
    """Model that records two notes and then answers, without delay.

    A request to send makes the second call one that needs confirmation.
    """

    def __init__(self) -> None:
        self._ids = count(1)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        last = request.messages[-1]["content"]
        if any(block.get("type") == "tool_result" for block in last):
            yield ModelTextDelta(0, _ANSWER)
            content = [{"type": "text", "text": _ANSWER}]
            yield Completed(content, "end_turn", _USAGE[1], request.model)
            return
        sends = any("send it" in block.get("text", "") for block in last)
        calls = [self._call(NOTE.name), self._call(SEND.name if sends else NOTE.name)]
        yield Completed(calls, "tool_use", _USAGE[0], request.model)

    async def aclose(self) -> None:
        return None

    def _call(self, name: str) -> dict[str, Any]:
        number = next(self._ids)
        return {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": name,
            "input": note_arguments(number),
        }


def note_arguments(number: int) -> dict[str, Any]:
    """Return arguments of the note tools, unique to the number."""
    topic = _TOPICS[number % len(_TOPICS)]
    text = f"The customer asked about the {topic} of order {number} and received an answer."
    return {"order": number, "text": text, "tags": [topic, "customer"]}


def note_call(number: int) -> CallRequest:
    """Return a direct call, unique to the number."""
    return CallRequest(new_id("call"), NOTE.name, note_arguments(number))


def message(number: int, *, sends: bool) -> str:
    """Return the text of a user; the word `HIT` is in every tenth."""
    topic = HIT if number % 10 == 0 else _TOPICS[number % len(_TOPICS)]
    end = "and send it" if sends else "and close it"
    return (
        f"Order {number}: please record what was agreed about the {topic}, tell the customer "
        f"about it, {end}. Use short sentences, name the order in each of them, and keep the "
        "internal remarks out of everything that the customer reads."
    )


def owner(number: int) -> str:
    """Return the user of a session; each has sessions of all kinds."""
    return f"user-{number // 4 % USERS}"
