"""Recorded calls with their answers, written to a service's database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import orjson

from app.db.writer import Transaction
from tests.support.service import Running

_numbers = count(1)
_CALL = (
    "INSERT INTO tool_calls (operation_id, tool_call_id, session_id, agent_id, tool_name,"
    " arguments, status, started_at, decision) VALUES (?, ?, ?, ?, 'bash', ?, ?, ?, '{}')"
)
_ANSWER = (
    "INSERT INTO confirmations (id, session_id, tool_call_id, operation_id, agent_id, tool_name,"
    " digest, status, request, option_id, answered_by, created_at, answered_at)"
    " VALUES (?, ?, ?, ?, ?, 'bash', 'd', ?, ?, ?, ?, ?, ?)"
)
_REQUEST = '{"subject":{},"risk":{"level":"medium","rules":[{"rule_id":"delete"}]}}'


@dataclass(frozen=True, slots=True)
class Answered:
    """One command and how it was answered. `answer` None: nobody was asked.

    Attributes:
        seconds: time from the question to the answer.
    """

    command: str
    answer: str | None = "approved"
    day: int = 1
    by: str = "ann"
    agent: str | None = None
    option: str = "approve_once"
    seconds: int = 20


async def record(running: Running, session_id: str, calls: Iterable[Answered]) -> Sequence[str]:
    """Store the calls of a session, in November 2026; return their operation IDs."""
    named = [(f"op_{next(_numbers):012}", item) for item in calls]

    def write(transaction: Transaction) -> None:
        for operation_id, item in named:
            _write(transaction, session_id, operation_id, item)

    await running.service.db.transact(write)
    return [operation_id for operation_id, _ in named]


def _write(transaction: Transaction, session_id: str, operation_id: str, item: Answered) -> None:
    number = int(operation_id[3:])
    minute = f"2026-11-{item.day:02}T{8 + number // 60 % 12:02}:{number % 60:02}"
    status = "declined" if item.answer == "declined" else "success"
    arguments = orjson.dumps({"command": item.command}).decode()
    call: tuple[Any, ...] = (
        *(operation_id, f"call_{number}", session_id, item.agent),
        *(arguments, status, f"{minute}:00.000Z"),
    )
    transaction.execute(_CALL, call)
    if item.answer is None:
        return
    option = item.option if item.answer == "approved" else "decline"
    answer: tuple[Any, ...] = (
        *(f"cfm_{number}", session_id, f"call_{number}", operation_id, item.agent),
        *(item.answer, _REQUEST, option, item.by),
        *(f"{minute}:00.000Z", f"{minute}:{item.seconds:02}.000Z"),
    )
    transaction.execute(_ANSWER, answer)
