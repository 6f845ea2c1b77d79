"""After a crash or a stop: what was under way is told as interrupted, what waited waits on.

A call that had begun may have taken effect and is never run again. A run in which a
person was asked is not over: it is handed on, with everything that is needed to go on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from app.core import process
from app.core.clock import isoformat
from app.core.contain import attempt
from app.core.text import dump_json
from app.db.ledger import Transaction
from app.db.question_statements import CANCEL_QUESTION
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
    QuestionAnswered,
    RunFinished,
    RunStarted,
    ToolCallCompleted,
    ToolConfirmationResolved,
    Trigger,
)
from app.events.log import SessionLog
from app.execution.batches import (
    ParkedBatch,
    StoredCall,
    StoredConfirmation,
    StoredWait,
    parked_batch,
)
from app.execution.setup import Gate

log = logging.getLogger(__name__)

MESSAGE = "The service stopped during this call; whether it took effect is unknown"

_HEAD = "(SELECT max(seq) FROM events e WHERE e.session_id = s.id AND e.epoch = s.epoch)"
_RUNNING = (
    f"SELECT r.id, r.session_id, r.owner, s.epoch, {_HEAD},"  # noqa: S608 - constants of this file
    " s.user_id, r.trigger, r.agent_id, r.started_at, r.input"
    " FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'running'"
)
_QUEUED = (
    "SELECT r.id, r.session_id, r.owner, s.epoch, s.leaf_entry_id, r.agent_id, r.model, r.input,"  # noqa: S608
    f" {_HEAD} FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'queued'"
    " ORDER BY r.started_at, r.id"
)
_EVENTS = (
    "SELECT type, body FROM events WHERE session_id = ? AND epoch = ?"
    " AND type IN ('tool_call_started', 'tool_call_completed',"
    " 'tool_confirmation_request', 'tool_confirmation_resolved',"
    " 'question_asked', 'question_answered') ORDER BY seq"
)
_CALLS = (
    "SELECT operation_id, status, tool_name, result, text, cached, duplicate_of, artifact_id,"
    " execution_time FROM tool_calls WHERE session_id = ? AND run_id = ?"
)
_ASKED = (
    "SELECT operation_id, id, tool_name, digest, status, request, call, edited_args, option_id,"
    " answered_by, message, expires_at FROM confirmations"
    " WHERE session_id = ? AND run_id = ? AND consumed_at IS NULL ORDER BY created_at"
)
_AWAITED = (
    "SELECT operation_id, id, 'question',"
    " CASE WHEN status = 'open' THEN request ELSE '{}' END FROM questions"
    " WHERE session_id = ? AND run_id = ? AND status <> 'cancelled'"
    " UNION ALL SELECT operation_id, id, 'ticket', '{}' FROM tickets"
    " WHERE session_id = ? AND run_id = ? AND blocking"
)
_DECIDED = (
    "SELECT operation_id, verdict FROM audit"
    " WHERE ts >= ? AND kind = 'call.decided' AND session_id = ? AND run_id = ?"
)
_OPEN = "SELECT id FROM confirmations WHERE session_id = ? AND run_id = ? AND status = 'pending'"
_TAKE_OVER = "UPDATE runs SET owner = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Trail:
    """What a run left: its events, and what the audit must know to tell how its calls ended.

    Attributes:
        verdicts: by operation, of calls that asked or were refused.
        unanswered: questions that nobody had answered.
    """

    user_id: str | None
    events: list[dict[str, Any]]
    verdicts: dict[str, str]
    unanswered: frozenset[str]


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """A run in which a person was asked when its process ended."""

    id: str
    session_id: str
    trigger: Trigger
    agent_id: str | None
    started_at: str
    batch: ParkedBatch
    trail: Trail


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that waits behind a parked run."""

    run_id: str
    session_id: str
    agent_id: str | None
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found: runs that were closed, and what is to go on."""

    closed: int = 0
    parked: tuple[ParkedRun, ...] = ()
    waiting: tuple[WaitingMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class _Lost:
    """A run of a process that is gone."""

    row: tuple[Any, ...]
    trail: Trail
    batch: ParkedBatch | None


async def recover(gate: Gate) -> Recovered:
    """Take over the runs of processes that are gone, and close those that cannot go on."""
    owner = process.identity()

    def take_over(transaction: Transaction) -> list[_Lost]:
        rows = [r for r in transaction.fetch(_RUNNING) if not process.is_alive(r[2] or "")]
        for row in rows:
            transaction.execute(_TAKE_OVER, (owner, row[0]))
        return [_read(transaction, row) for row in rows]

    lost = await gate.ledger.transact(take_over)
    closed = [run for run in lost if run.batch is None]
    for run in closed:
        run_id, session_id, _, epoch, head, *_ = run.row
        _close_run(gate, gate.events.open(session_id, epoch, head or 0), run_id, run.trail)
    parked = tuple(_parked(run, run.batch) for run in lost if run.batch is not None)
    stay = {run.session_id for run in parked}
    kept, waiting = await _keep_waiting(gate, stay, owner)
    await gate.ledger.durable()
    for session_id in {run.row[1] for run in closed} | {row[1] for row in kept}:
        gate.events.release(session_id)
    return Recovered(len(closed) + len(kept), parked, waiting)


def _read(transaction: Transaction, row: tuple[Any, ...]) -> _Lost:
    run_id, session_id, _, epoch, _, user_id, *_, started_at, kept = row
    bodies = transaction.fetch(_EVENTS, (session_id, epoch))
    events = [event for _, body in bodies if (event := orjson.loads(body)).get("run_id") == run_id]
    batch = None
    if kept is not None:
        calls = transaction.fetch(_CALLS, (session_id, run_id))
        asked = transaction.fetch(_ASKED, (session_id, run_id))
        awaited = transaction.fetch(_AWAITED, (session_id, run_id) * 2)
        batch, error = attempt(_batch, kept, events, calls, asked, awaited)
        if error is not None:
            log.error("what run %s left cannot be read", run_id, exc_info=error)
    verdicts = dict(transaction.fetch(_DECIDED, (started_at, session_id, run_id)))
    unanswered = frozenset(row[0] for row in transaction.fetch(_OPEN, (session_id, run_id)))
    return _Lost(row, Trail(user_id, events, verdicts, unanswered), batch)


def _batch(
    kept: str,
    events: Sequence[dict[str, Any]],
    calls: Sequence[tuple[Any, ...]],
    asked: Sequence[tuple[Any, ...]],
    awaited: Sequence[tuple[Any, ...]],
) -> ParkedBatch | None:
    """The batch, when somebody is asked for one of its calls, or was and nothing came of it."""
    batch = parked_batch(
        kept,
        rows={row[0]: StoredCall(*row[1:]) for row in calls},
        confirmations={row[0]: StoredConfirmation(*row[1:]) for row in asked},
        started={e["operation_id"]: e["ts"] for e in events if e["type"] == "tool_call_started"},
        told=frozenset(
            e["confirmation_id"] for e in events if e["type"] == "tool_confirmation_resolved"
        ),
        awaited={row[0]: StoredWait(row[1], row[2], orjson.loads(row[3])) for row in awaited},
    )
    return batch if any(_waits(batch, operation_id) for _, operation_id in batch.requests) else None


def _waits(batch: ParkedBatch, operation_id: str) -> bool:
    """Whether a call of a batch waits for somebody."""
    row = batch.rows.get(operation_id)
    if operation_id in batch.awaited and (row is None or row.status == "started"):
        return True
    question = batch.confirmations.get(operation_id)
    return row is None and question is not None and question.status != "cancelled"


def close_parked(gate: Gate, log: SessionLog, run: ParkedRun) -> None:
    """End a parked run that cannot go on after all."""
    _close_run(gate, log, run.id, run.trail)


def _parked(run: _Lost, batch: ParkedBatch) -> ParkedRun:
    run_id, session_id, _, _, _, _, trigger, agent_id, started_at, _ = run.row
    return ParkedRun(
        run_id, session_id, cast("Trigger", trigger), agent_id, started_at, batch, run.trail
    )


async def _keep_waiting(
    gate: Gate, stay: set[str], owner: str
) -> tuple[list[tuple[Any, ...]], tuple[WaitingMessage, ...]]:
    """Messages that were accepted and never begun: they stand in their session, unanswered.

    Behind a run that goes on they wait on.
    """

    def read(transaction: Transaction) -> list[tuple[Any, ...]]:
        rows = [r for r in transaction.fetch(_QUEUED) if not process.is_alive(r[2] or "")]
        for row in rows:
            transaction.execute(_TAKE_OVER, (owner, row[0]))
        return rows

    rows = await gate.ledger.transact(read)
    waiting = tuple(
        WaitingMessage(row[0], row[1], row[5], orjson.loads(row[7]))
        for row in rows
        if row[1] in stay
    )
    kept = [row for row in rows if row[1] not in stay]
    leaves: dict[str, str | None] = {}
    for row in kept:
        _tell_unanswered(gate, row, leaves)
    return kept, waiting


def _tell_unanswered(gate: Gate, row: tuple[Any, ...], leaves: dict[str, str | None]) -> None:
    run_id, session_id, _, epoch, leaf, agent_id, model, stored, head = row
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


def _close_run(gate: Gate, log: SessionLog, run_id: str, trail: Trail) -> None:
    events = trail.events
    answered = {e["confirmation_id"] for e in events if e["type"] == "tool_confirmation_resolved"}
    ended = {e["operation_id"] for e in events if e["type"] == "tool_call_completed"}
    moment = isoformat(gate.clock.now())
    names = {e["operation_id"]: e["tool_name"] for e in events if e["type"] == "tool_call_started"}
    for event in events:
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
        if is_open and confirmation_id in trail.unanswered:
            gate.audit.record(
                "confirmation.answered",
                actor="system",
                subject=confirmation_id,
                **_about(log, event, names.get(event["operation_id"])),
                outcome="cancelled",
            )
    _close_questions(gate, log, events, moment)
    for event in events:
        if event["type"] == "tool_call_started" and event["operation_id"] not in ended:
            _close_call(gate, log, event, trail)
    gate.ledger.append(FINISH_RUN, ("interrupted", None, None, "{}", moment, run_id))
    log.emit(RunFinished, run_id=run_id, status="interrupted")


def _close_questions(
    gate: Gate, log: SessionLog, events: Sequence[dict[str, Any]], moment: str
) -> None:
    """Take back what the calls of a lost run asked the user."""
    over = {e["question_id"] for e in events if e["type"] == "question_answered"}
    for event in events:
        if event["type"] == "question_asked" and event["question_id"] not in over:
            question_id = event["question_id"]
            gate.ledger.append(CANCEL_QUESTION, (moment, question_id))
            log.emit(QuestionAnswered, **_ids(event), question_id=question_id, outcome="cancelled")
            gate.audit.record(
                "question.answered",
                actor="system",
                subject=question_id,
                **_about(log, event, event.get("tool_name")),
                outcome="cancelled",
            )


def _close_call(gate: Gate, log: SessionLog, started: dict[str, Any], trail: Trail) -> None:
    detail = {"tool_call_id": started["tool_call_id"], "code": "interrupted"}
    args = gate.audit.arguments(started.get("args"))
    if args is not None:
        detail["args"] = orjson.loads(args)
    gate.audit.record(
        "call.finished",
        actor=trail.user_id or "system",
        **_about(log, started, started["tool_name"]),
        verdict=trail.verdicts.get(started["operation_id"], "allow"),
        outcome="interrupted",
        detail=detail,
    )
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


def _about(log: SessionLog, event: dict[str, Any], tool_name: str | None) -> dict[str, Any]:
    """What a row of the audit says of a call."""
    return {
        "session_id": log.session_id,
        "run_id": event.get("run_id"),
        "agent_id": event.get("agent_id"),
        "tool_name": tool_name,
        "operation_id": event["operation_id"],
    }
