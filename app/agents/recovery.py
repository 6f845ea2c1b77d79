"""After a crash: what was under way is recorded as interrupted, and never run again."""

from __future__ import annotations

from typing import Any

import orjson

from app.core import process
from app.core.clock import isoformat
from app.core.text import dump_json
from app.db.ledger import Transaction
from app.db.statements import (
    ADD_ENTRY,
    CANCEL_CONFIRMATION,
    FINISH_CALL,
    FINISH_RUN,
    MOVE_LEAF,
    START_QUEUED,
)
from app.events.durable import (
    MessageCompleted,
    RunFinished,
    RunStarted,
    ToolCallCompleted,
    ToolConfirmationResolved,
)
from app.events.log import SessionLog
from app.execution.setup import Gate

MESSAGE = "The service stopped during this call; whether it took effect is unknown"

_RUNNING = (
    "SELECT r.id, r.session_id, r.owner, s.epoch,"
    " (SELECT max(seq) FROM events e WHERE e.session_id = s.id AND e.epoch = s.epoch)"
    " FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'running'"
)
_QUEUED = (
    "SELECT r.id, r.session_id, r.owner, s.epoch, s.leaf_entry_id, r.agent_id, r.model, r.input,"
    " (SELECT max(seq) FROM events e WHERE e.session_id = s.id AND e.epoch = s.epoch)"
    " FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'queued'"
    " ORDER BY r.started_at, r.id"
)
_EVENTS = (
    "SELECT type, body FROM events WHERE session_id = ? AND epoch = ?"
    " AND type IN ('tool_call_started', 'tool_call_completed',"
    " 'tool_confirmation_request', 'tool_confirmation_resolved') ORDER BY seq"
)


async def recover(gate: Gate) -> int:
    """Close the runs of processes that are gone; how many there were."""

    def read(transaction: Transaction) -> list[tuple[tuple[Any, ...], list[tuple[Any, ...]]]]:
        return [
            (row, transaction.fetch(_EVENTS, (row[1], row[3])))
            for row in transaction.fetch(_RUNNING)
            if not process.is_alive(row[2] or "")
        ]

    lost = await gate.ledger.transact(read)
    for (run_id, session_id, _, epoch, head), events in lost:
        log = gate.events.open(session_id, epoch, head or 0)
        _close_run(gate, log, run_id, [orjson.loads(body) for _, body in events])
    waiting = await _keep_waiting(gate)
    await gate.ledger.durable()
    for session_id in {row[1] for row, _ in lost} | {row[1] for row in waiting}:
        gate.events.release(session_id)
    return len(lost) + len(waiting)


async def _keep_waiting(gate: Gate) -> list[tuple[Any, ...]]:
    """Messages that were accepted and never begun: they stand in their session, unanswered."""

    def read(transaction: Transaction) -> list[tuple[Any, ...]]:
        rows = transaction.fetch(_QUEUED)
        return [row for row in rows if not process.is_alive(row[2] or "")]

    leaves: dict[str, str | None] = {}
    rows = await gate.ledger.transact(read)
    for run_id, session_id, _, epoch, leaf, agent_id, model, stored, head in rows:
        log = gate.events.open(session_id, epoch, head or 0)
        message = orjson.loads(stored)
        moment = isoformat(gate.clock.now())
        message_id, content = message["message_id"], message["content"]
        parent = leaves.get(session_id, leaf)
        leaves[session_id] = message_id
        gate.ledger.append(START_QUEUED, (moment, run_id))
        encoded = dump_json(content).decode()
        entry = (message_id, session_id, parent, run_id, "user", encoded, moment)
        gate.ledger.append(ADD_ENTRY, entry)
        gate.ledger.append(MOVE_LEAF, (message_id, moment, session_id))
        gate.ledger.append(FINISH_RUN, ("interrupted", None, None, "{}", moment, run_id))
        ids = {"run_id": run_id, "agent_id": agent_id}
        log.emit(RunStarted, **ids, trigger="message", model=model)
        log.emit(
            MessageCompleted,
            **ids,
            message_id=message_id,
            role="user",
            content=content,
            client_message_id=message["client_message_id"],
        )
        log.emit(RunFinished, **ids, status="interrupted")
    return rows


def _close_run(gate: Gate, log: SessionLog, run_id: str, events: list[dict[str, Any]]) -> None:
    mine = [event for event in events if event.get("run_id") == run_id]
    answered = {e["confirmation_id"] for e in mine if e["type"] == "tool_confirmation_resolved"}
    ended = {e["operation_id"] for e in mine if e["type"] == "tool_call_completed"}
    moment = isoformat(gate.clock.now())
    for event in mine:
        confirmation_id = event.get("confirmation_id")
        is_open = event["type"] == "tool_confirmation_request" and confirmation_id not in answered
        if is_open:
            gate.ledger.append(CANCEL_CONFIRMATION, (moment, confirmation_id))
            log.emit(
                ToolConfirmationResolved,
                **_ids(event),
                confirmation_id=confirmation_id,
                outcome="cancelled",
            )
    for event in mine:
        if event["type"] == "tool_call_started" and event["operation_id"] not in ended:
            _close_call(gate, log, event)
    gate.ledger.append(FINISH_RUN, ("interrupted", None, None, "{}", moment, run_id))
    log.emit(RunFinished, run_id=run_id, status="interrupted")


def _close_call(gate: Gate, log: SessionLog, started: dict[str, Any]) -> None:
    log.emit(
        ToolCallCompleted,
        **_ids(started),
        tool_name=started["tool_name"],
        status="interrupted",
        content=[{"type": "text", "text": MESSAGE}],
        error={"code": "interrupted", "message": MESSAGE},
    )
    result = orjson.dumps({"success": False, "data": None, "error": MESSAGE}).decode()
    row = (
        started["operation_id"],
        started["tool_call_id"],
        log.session_id,
        started.get("run_id"),
        started.get("agent_id"),
        started["tool_name"],
        orjson.dumps(started.get("args")).decode(),
        "interrupted",
        started["ts"],
        result,
        MESSAGE,
        False,
        False,
        False,
        None,
        None,
        0.0,
        None,
    )
    gate.ledger.append(FINISH_CALL, row)


def _ids(event: dict[str, Any]) -> dict[str, Any]:
    names = ("run_id", "agent_id", "tool_call_id", "operation_id")
    return {name: event[name] for name in names if name in event}
