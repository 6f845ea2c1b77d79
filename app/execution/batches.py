"""Calls that were asked for together, and what is kept of them while one waits for a person."""

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
    """Everything of the batch that its own rows do not hold, as JSON text.

    The arguments stand here as the caller sent them, because they are what would run.
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
    """The row of a call, as far as a resumed batch needs it."""

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
    """The row of a confirmation, as far as a resumed batch needs it."""

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
    """What a running call had asked somebody, as far as a resumed batch needs it.

    Attributes:
        request: what the event of an open question said; empty for anything else.
    """

    id: str
    kind: Literal["question", "ticket"]
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SuspendedBatch:
    """A batch that a former process left behind, by operation id where it says `Mapping`.

    Attributes:
        requests: what was asked for, each with its operation id, in order.
        rows: calls that were claimed or had ended.
        confirmations: the last question about each call.
        awaited: what a call that was running had asked somebody.
        notes: what else is told of a call that was cut off.
        started: when the calls that were taken up began.
        told: questions whose end is in the event log.
        progress: what the run had come to, as whoever runs it wrote it down.
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
    told: frozenset[str]
    awaited: Mapping[str, StoredWait]
    notes: Mapping[str, str]


def suspended_batch(
    stored: str,
    *,
    rows: Mapping[str, RecordedCall],
    confirmations: Mapping[str, StoredConfirmation],
    started: Mapping[str, str],
    told: frozenset[str],
    awaited: Mapping[str, StoredWait],
    notes: Mapping[str, str],
) -> SuspendedBatch:
    """Read what `Batch.stored` wrote."""
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
        told,
        awaited,
        notes,
    )
