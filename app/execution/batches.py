"""Batches of calls, and their stored state while a call waits for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from app.core.text import dump_json
from app.execution.call import ToolCallBatch
from app.execution.calls import CallRequest
from app.execution.context import Caller
from app.governance.limits import QuotaSubject


def kept_of(batch: ToolCallBatch) -> str:
    """Return the parts of the batch that its rows do not contain, as JSON text.

    The arguments are stored as the caller sent them, because those would run.
    """
    context = batch.calls[0].context
    subject = context.quota_subject
    kept = {
        "calls": [
            [call.request.id, call.request.name, call.request.arguments, call.operation_id]
            for call in batch.calls
        ],
        "max_workers": batch.max_workers,
        "message_id": context.message_id,
        "caller": context.caller,
        "attended": context.attended,
        "cacheable": context.cacheable,
        "user_id": context.user_id,
        "token_id": subject.token_id,
        "limits": subject.limits.to_json() if subject.limits else None,
        "progress": context.progress() if context.progress is not None else None,
    }
    return dump_json(kept).decode()


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """Row of a call, as needed to resume a batch."""

    status: str
    tool_name: str
    result: str | None
    text: str | None
    cached: bool
    duplicate_of: str | None
    artifact_id: str | None
    execution_time: float


@dataclass(frozen=True, slots=True)
class StoredConfirmation:
    """Row of a confirmation, as needed to resume a batch."""

    id: str
    tool_name: str
    digest: str
    status: str
    request: str
    call: str
    edited_args: str | None
    option_id: str | None
    answered_by: str | None
    message: str | None
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class StoredWait:
    """Open request of a running call, as far as a resumed batch needs it.

    Attributes:
        request: event of an open question; empty for other kinds.
    """

    id: str
    kind: Literal["question", "ticket"]
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SuspendedBatch:
    """Batch left by a previous process; mappings are keyed by operation ID.

    Attributes:
        requests: requested calls with their operation IDs, in order.
        rows: claimed or ended calls.
        confirmations: last confirmation of each call.
        awaited: open request of each running call.
        notes: additional note on each interrupted call.
        started: start times of the admitted calls.
        reported: confirmations whose end is in the event log.
        progress: progress of the run, as stored by its owner.
    """

    requests: tuple[tuple[CallRequest, str], ...]
    max_workers: int | None
    message_id: str | None
    caller: Caller
    attended: bool
    cacheable: bool
    quota_subject: QuotaSubject
    progress: Mapping[str, Any]
    rows: Mapping[str, RecordedCall]
    confirmations: Mapping[str, StoredConfirmation]
    started: Mapping[str, str]
    reported: frozenset[str]
    awaited: Mapping[str, StoredWait]
    notes: Mapping[str, str]


def suspended_batch(
    stored: str,
    *,
    rows: Mapping[str, RecordedCall],
    confirmations: Mapping[str, StoredConfirmation],
    started: Mapping[str, str],
    reported: frozenset[str],
    awaited: Mapping[str, StoredWait],
    notes: Mapping[str, str],
) -> SuspendedBatch:
    """Parse the output of `kept_of`."""
    kept = orjson.loads(stored)
    return SuspendedBatch(
        tuple((CallRequest(*item[:3]), item[3]) for item in kept["calls"]),
        kept["max_workers"],
        kept["message_id"],
        kept["caller"],
        kept["attended"],
        kept["cacheable"],
        QuotaSubject.from_json(kept),
        kept["progress"] or {},
        rows,
        confirmations,
        started,
        reported,
        awaited,
        notes,
    )
