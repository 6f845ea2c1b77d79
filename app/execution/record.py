"""Writing down what a call did: its events, its row, its figures. Nothing here awaits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.core.text import dump_json, truncate
from app.db.ledger import Ledger
from app.db.statements import ADD_CALL, FINISH_CALL, START_CALL
from app.execution.outcome import CallOutcome

if TYPE_CHECKING:
    from app.execution.pipeline import Call

MAX_ARGS_CHARS = 32_000
MAX_CONTENT_CHARS = 60_000
MAX_RAW_BYTES = 120_000
MAX_RESULT_BYTES = 256_000
_TITLE_KEYS = ("command", "path", "pattern", "query", "expression", "url", "name", "goal")


class Recorder:
    """Emits `tool_call_started` and `tool_call_completed`, and keeps the unified record."""

    def __init__(self, ledger: Ledger, redactor: Redactor, metrics: Metrics) -> None:
        self._ledger = ledger
        self._redactor = redactor
        self._metrics = metrics

    def started(self, call: Call, *, awaits_confirmation: bool = False) -> None:
        """The gate took the call up. Once per call."""
        shown, redacted, args = self._shown(call)
        tool = call.tool
        fields: dict[str, Any] = {
            **call.head,
            "tool_name": call.tool_name,
            "title": title(call.tool_name, shown),
            "kind": tool.kind if tool else "other",
            "args": args,
            "redacted": redacted,
            "route": "disabled" if call.is_disabled else call.context.route,
            "awaits_confirmation": awaits_confirmation,
            "index": call.index,
        }
        if call.context.message_id:
            fields["message_id"] = call.context.message_id
        log = call.context.log
        log.append("tool_call_started", fields)
        call.started_at = log.last_ts
        call.is_started = True

    def claimed(self, call: Call) -> None:
        """The call is about to have side effects: its row must be on disk before it does."""
        self._ledger.append(START_CALL, self._row_head(call, "started"))
        call.is_claimed = True

    def completed(
        self, call: Call, outcome: CallOutcome, *, chunks: int = 0, size: int = 0
    ) -> None:
        """The end of the call. Once per call, always after `started`."""
        call.outcome = outcome
        result = outcome.result
        fields: dict[str, Any] = {
            **call.head,
            "tool_name": outcome.tool_name,
            "status": outcome.status,
            "content": [{"type": "text", "text": truncate(outcome.text, MAX_CONTENT_CHARS)}],
        }
        raw = self._raw_result(outcome)
        if raw is not None:
            fields["raw_result"] = raw
        fields["truncated"] = outcome.truncated or len(outcome.text) > MAX_CONTENT_CHARS
        if outcome.artifact_id:
            fields["artifact_id"] = outcome.artifact_id
        fields["bytes"] = size or len(outcome.text.encode())
        fields["chunks"] = chunks
        if not result.success:
            fields["error"] = {
                "code": result.code or outcome.status,
                "message": truncate(result.error or outcome.status, 4000),
                "retryable": False,
            }
        fields["duration_ms"] = round(outcome.execution_time * 1000, 3)
        fields["cached"] = outcome.cached
        if outcome.duplicate_of:
            fields["duplicate_of"] = outcome.duplicate_of
        call.context.log.append("tool_call_completed", fields)
        self._keep(call, outcome)
        # A label per name that somebody made up would grow without end.
        known = outcome.tool_name if call.entry else "unknown"
        self._metrics.call(known, outcome.status, outcome.execution_time)

    def _keep(self, call: Call, outcome: CallOutcome) -> None:
        result = dump_json(outcome.result.to_dict())
        if len(result) > MAX_RESULT_BYTES:
            kept = {
                "success": outcome.success,
                "data": {"truncated": True, "artifact_id": outcome.artifact_id},
                "error": outcome.result.error,
            }
            result = orjson.dumps(kept)
        decision = call.decision
        self._ledger.append(
            FINISH_CALL if call.is_claimed else ADD_CALL,
            (
                *self._row_head(call, outcome.status),
                result.decode(),
                outcome.text,
                outcome.success,
                outcome.skipped,
                outcome.cached,
                outcome.duplicate_of,
                outcome.artifact_id,
                outcome.execution_time,
                None if decision is None else call.decision_json(),
            ),
        )

    def _shown(self, call: Call) -> tuple[Any, list[str], Any]:
        """Arguments fit to be seen, the paths that were masked, and their form in the event."""
        raw = call.shown_arguments
        encoded = call.prepared.canonical if call.prepared else dump_json(raw)
        redacted: list[str] = []
        if isinstance(raw, str) or not self._redactor.is_clean(encoded):
            raw, redacted = self._redactor.arguments(raw)
            if isinstance(raw, str):
                raw = self._redactor.raw_json(raw)
            encoded = dump_json(raw)
        call.arguments_json = encoded.decode()
        if len(encoded) > MAX_ARGS_CHARS:
            return raw, redacted, bounded(raw)
        return raw, redacted, orjson.Fragment(encoded)

    def _row_head(self, call: Call, status: str) -> tuple[Any, ...]:
        context = call.context
        return (
            call.operation_id,
            call.request.id,
            context.session_id,
            context.run_id,
            context.agent_id,
            call.tool_name,
            call.arguments_json,
            status,
            call.started_at,
        )

    def _raw_result(self, outcome: CallOutcome) -> Any:
        raw = outcome.result.raw_result
        if raw is None:
            return None
        encoded = dump_json(raw.to_dict())
        if len(encoded) > MAX_RAW_BYTES:
            return {"type": "text", "data": truncate(outcome.text, MAX_CONTENT_CHARS)}
        return orjson.Fragment(encoded)


def title(tool_name: str, arguments: Any) -> str:
    """One line for a card: the tool and what it is about."""
    if isinstance(arguments, dict):
        for key in _TITLE_KEYS:
            subject = arguments.get(key)
            if isinstance(subject, str) and subject:
                line = subject if len(subject) < 100 else truncate(subject, 100, "…")
                return f"{tool_name}: {' '.join(line.split())}"
    return tool_name


def bounded(arguments: Any) -> Any:
    """Arguments that fit into an event: long strings are cut, with their length named."""
    if not isinstance(arguments, dict):
        return truncate(arguments, MAX_ARGS_CHARS) if isinstance(arguments, str) else arguments
    if _size(arguments) <= MAX_ARGS_CHARS:
        return arguments
    return _shortened(arguments, 2000)


def _size(value: Any) -> int:
    """A cheap upper estimate of how long the JSON text will be."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(key)) + _size(item) + 4 for key, item in value.items())
    if isinstance(value, list):
        return sum(_size(item) + 1 for item in value)
    return 8


def _shortened(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return truncate(value, limit, f"… ({len(value)} characters)")
    if isinstance(value, dict):
        items = list(value.items())
        shown = {str(key): _shortened(item, limit // 2 or 16) for key, item in items[:50]}
        return shown if len(items) <= 50 else {**shown, "…": f"{len(items) - 50} more"}
    if isinstance(value, list):
        shown_list = [_shortened(item, limit // 4 or 16) for item in value[:50]]
        return shown_list if len(value) <= 50 else [*shown_list, f"… {len(value) - 50} more"]
    return value
