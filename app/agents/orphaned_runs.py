"""Runs of ended processes: their data, read in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.agents.context.compaction import SUMMARY
from app.agents.history import DELEGATED, INTERRUPTED, NOT_RUN, Block, missing_result
from app.agents.progress import RunProgress
from app.core.error_boundary import try_call
from app.core.text import clean
from app.db.event_blocks import events_of
from app.db.writer import Transaction
from app.execution.batch_recovery import outcome_of
from app.execution.batches import (
    RecordedCall,
    StoredConfirmation,
    StoredWait,
    SuspendedBatch,
    suspended_batch,
)
from app.execution.calls import CallRequest

log = logging.getLogger(__name__)

_KINDS = (
    "tool_call_started",
    "tool_call_completed",
    "tool_confirmation_request",
    "tool_confirmation_resolved",
    "question_asked",
    "question_answered",
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
# Batches that have ended, or may continue, by the delegating call.
_DELEGATED = (
    "SELECT operation_id, id FROM delegation_batches WHERE session_id = ? AND parent_run_id = ?"
    " AND (status <> 'running' OR parent IS NOT NULL)"
)
_OPEN = "SELECT id FROM confirmations WHERE session_id = ? AND run_id = ? AND status = 'pending'"
_ENTRIES = "SELECT id, parent_id, role FROM entries WHERE session_id = ? AND run_id = ?"
_CONTENT = "SELECT content FROM entries WHERE session_id = ? AND id = ?"


@dataclass(frozen=True, slots=True)
class RunHead:
    """Row of an orphaned run, with data of its session.

    Attributes:
        head: last `seq` of the session's log.
        batch: stored batch with an open confirmation, as JSON text.
    """

    id: str
    session_id: str
    owner: str | None
    epoch: str
    user_id: str | None
    trigger: str
    agent_id: str | None
    started_at: str
    leaf: str | None
    batch: str | None
    progress: str | None
    head: int


@dataclass(frozen=True, slots=True)
class Trail:
    """Traces of an orphaned run: its events, and the facts about its calls for the audit log.

    Attributes:
        verdicts: by operation, verdicts of calls that asked or were refused.
        unanswered: open questions.
    """

    user_id: str | None
    events: list[dict[str, Any]]
    verdicts: dict[str, str]
    unanswered: frozenset[str]


@dataclass(frozen=True, slots=True)
class LastTurn:
    """Last turn of an interrupted conversation.

    Attributes:
        results: results of the last turn's calls, if not yet stored.
        is_answered: the model had finished its answer.
    """

    results: tuple[Block, ...] = ()
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class OrphanedRun:
    """Run of an ended process.

    Attributes:
        batch: calls, at least one of which waits for a person.
        progress: stored progress, if it may continue.
        is_delegated: it belongs to a sub-agent that may continue.
    """

    row: RunHead
    trail: Trail
    batch: SuspendedBatch | None = None
    progress: RunProgress | None = None
    turn: LastTurn = LastTurn()
    is_delegated: bool = False


def read_lost(transaction: Transaction, row: RunHead, progress: RunProgress | None) -> OrphanedRun:
    """Read the stored data of an orphaned run."""
    ids = (row.session_id, row.id)
    bodies = events_of(transaction.fetch, row.session_id, row.epoch, _KINDS)
    decoded = (orjson.loads(body) for _, _, body in bodies)
    events = [event for event in decoded if event.get("run_id") == row.id]
    verdicts = dict(transaction.fetch(_DECIDED, (row.started_at, *ids)))
    unanswered = frozenset(found[0] for found in transaction.fetch(_OPEN, ids))
    trail = Trail(row.user_id, events, verdicts, unanswered)
    calls = {found[0]: RecordedCall(*found[1:]) for found in transaction.fetch(_CALLS, ids)}
    notes = _notes(transaction, *ids)
    if row.batch is not None:
        asked = transaction.fetch(_ASKED, ids)
        awaited = transaction.fetch(_AWAITED, ids * 2)
        batch, error = try_call(_batch, row.batch, events, calls, asked, awaited, notes)
        if error is not None:
            log.error("cannot read what run %s left behind", row.id, exc_info=error)
        if batch is not None:
            return OrphanedRun(row, trail, batch, progress)
    if progress is None:
        return OrphanedRun(row, trail)
    return OrphanedRun(
        row, trail, None, progress, _last_turn(transaction, row, events, calls, notes)
    )


def _batch(
    kept: str,
    events: Sequence[dict[str, Any]],
    calls: dict[str, RecordedCall],
    asked: Sequence[tuple[Any, ...]],
    awaited: Sequence[tuple[Any, ...]],
    notes: dict[str, str],
) -> SuspendedBatch | None:
    """Return the batch if one of its calls waits for a person, or has an unused answer."""
    batch = suspended_batch(
        kept,
        rows=calls,
        confirmations={row[0]: StoredConfirmation(*row[1:]) for row in asked},
        started={e["operation_id"]: e["ts"] for e in events if e["type"] == "tool_call_started"},
        reported=frozenset(
            e["confirmation_id"] for e in events if e["type"] == "tool_confirmation_resolved"
        ),
        awaited={row[0]: StoredWait(row[1], row[2], orjson.loads(row[3])) for row in awaited},
        notes=notes,
    )
    return batch if any(_waits(batch, operation_id) for _, operation_id in batch.requests) else None


def _waits(batch: SuspendedBatch, operation_id: str) -> bool:
    """Return whether a call of a batch waits for a person."""
    row = batch.rows.get(operation_id)
    if operation_id in batch.awaited and (row is None or row.status == "started"):
        return True
    question = batch.confirmations.get(operation_id)
    return row is None and question is not None and question.status != "cancelled"


def _last_turn(
    transaction: Transaction,
    row: RunHead,
    events: Sequence[dict[str, Any]],
    calls: dict[str, RecordedCall],
    notes: dict[str, str],
) -> LastTurn:
    """Return the last turn of the run's own messages."""
    entries = {
        found[0]: (found[1], found[2])
        for found in transaction.fetch(_ENTRIES, (row.session_id, row.id))
    }
    entry_id, was_spoken_to = row.leaf, False
    while entry_id in entries and entries[entry_id][1] in ("user", SUMMARY):
        was_spoken_to = was_spoken_to or entries[entry_id][1] == "user"
        entry_id = entries[entry_id][0]
    if entry_id not in entries or entries[entry_id][1] != "assistant":
        return LastTurn()
    ((content,),) = transaction.fetch(_CONTENT, (row.session_id, entry_id))
    uses = [block for block in orjson.loads(content) if block.get("type") == "tool_use"]
    results = tuple(_results(uses, entry_id, events, calls, notes))
    return LastTurn(results, is_answered=not uses and not was_spoken_to)


def results_of(
    transaction: Transaction,
    session_id: str,
    run_id: str,
    message_id: str,
    uses: Sequence[Block],
    events: Sequence[dict[str, Any]],
) -> list[Block]:
    """Return for the model the results of all calls of an interrupted turn."""
    found = transaction.fetch(_CALLS, (session_id, run_id))
    calls = {row[0]: RecordedCall(*row[1:]) for row in found}
    notes = _notes(transaction, session_id, run_id)
    return list(_results(uses, message_id, events, calls, notes))


def _notes(transaction: Transaction, session_id: str, run_id: str) -> dict[str, str]:
    """Return additional notes on interrupted calls, by operation."""
    rows = transaction.fetch(_DELEGATED, (session_id, run_id))
    return {operation_id: DELEGATED.format(batch_id=batch_id) for operation_id, batch_id in rows}


def _results(
    uses: Sequence[Block],
    message_id: str | None,
    events: Sequence[dict[str, Any]],
    calls: dict[str, RecordedCall],
    notes: dict[str, str],
) -> Iterator[Block]:
    begun = {
        event["tool_call_id"]: event["operation_id"]
        for event in events
        if event["type"] == "tool_call_started" and event.get("message_id") == message_id
    }
    for use in uses:
        yield _result(use, begun, calls, notes)


def _result(
    use: Block, begun: dict[str, str], calls: dict[str, RecordedCall], notes: dict[str, str]
) -> Block:
    """Return for the model the result of one call of an interrupted turn."""
    call_id = str(use.get("id", ""))
    operation_id = begun.get(clean(call_id))
    if operation_id is None:
        return missing_result(call_id, NOT_RUN)
    stored = calls.get(operation_id)
    note = notes.get(operation_id, "")
    if stored is None or stored.status == "started":
        return missing_result(call_id, f"{INTERRUPTED} {note}".strip())
    request = CallRequest(call_id, str(use.get("name", "")), {})
    return outcome_of(stored, request, operation_id).noted(note).tool_result_block()
