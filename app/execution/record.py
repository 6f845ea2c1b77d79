"""Recording of a call: its events, its row and its metrics. Nothing here awaits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from app.core.escaping import exact_json
from app.core.field_problems import problems_in
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.core.text import dump_json, truncate
from app.db.statements import ADD_CALL, FINISH_CALL, START_CALL
from app.db.writer import DatabaseWriter
from app.events.encode import call_completed, call_started, quoted
from app.execution.outcome import CallEnd, CallOutcome
from app.governance.identity.token_rules import DEFAULT_AGENT
from app.policy.decision import ALLOW
from app.toolkit.tool import Tool

if TYPE_CHECKING:
    from app.execution.call import CallState
    from app.execution.call_audit import CallAudit

MAX_ARGS_CHARS = 32_000
MAX_CONTENT_CHARS = 60_000
MAX_RAW_BYTES = 120_000
MAX_RESULT_BYTES = 256_000
_LONG_NUMBER = re.compile(rb"[:\[,]-?\d{16}")
_TITLE_KEYS = ("command", "path", "pattern", "query", "expression", "url", "name", "goal")


class Recorder:
    """Emits `tool_call_started` and `tool_call_completed`, and stores the unified record."""

    def __init__(
        self, db: DatabaseWriter, redactor: Redactor, metrics: Metrics, audit: CallAudit
    ) -> None:
        self._db = db
        self._redactor = redactor
        self._metrics = metrics
        self._audit = audit
        self._cards: dict[str, _Card] = {}

    def started(self, call: CallState, *, awaits_confirmation: bool = False) -> tuple[str, str]:
        """The gate took the call up, once per call: when, and its arguments as they are stored."""
        shown, redacted, args, stored = self._shown(call)
        card = self._card(call)
        log = call.context.log
        fields = call_started(
            call.ids,
            card.name,
            card.title(shown),
            card.kind,
            args,
            dump_json(redacted).decode() if redacted else "[]",
            call.route,
            asks=awaits_confirmation,
            index=call.index,
            message_id=call.context.message_id,
        )
        log.append("tool_call_started", fields)
        if awaits_confirmation:
            self._metrics.count("prompts", call.context.agent_id or DEFAULT_AGENT)
        return log.last_ts, stored

    def decided(self, call: CallState) -> None:
        """A call that was taken up asks, or will not run."""
        self._audit.decided(call)

    def claimed(self, call: CallState) -> None:
        """Queue the row of a call with side effects, to be committed before it runs."""
        self._db.append(START_CALL, self.row_head(call, "started"))

    def completed(self, call: CallState, end: CallEnd) -> None:
        """The end of the call. Once per call, always after `started`."""
        outcome = end.outcome
        result, text = outcome.result, outcome.text
        artifact_id = outcome.artifact_id
        fields = call_completed(
            call.ids,
            self._card(call).name,
            outcome.status,
            quoted(text if len(text) <= MAX_CONTENT_CHARS else truncate(text, MAX_CONTENT_CHARS)),
            raw_result=None if result.raw_result is None else self._raw_result(outcome),
            truncated=outcome.truncated or len(text) > MAX_CONTENT_CHARS,
            artifact_id=artifact_id,
            size=end.size or (len(text) if text.isascii() else len(text.encode())),
            chunks=end.chunks,
            error=None if result.success else _error(outcome),
            duration_ms=round(outcome.execution_time * 1000, 3),
            cached=outcome.cached,
            duplicate_of=outcome.duplicate_of,
        )
        call.context.log.append("tool_call_completed", fields)
        self._keep(call, outcome, end.data)
        if call.asked is not None and call.asked.answer is not None:
            self._metrics.count("prompt_answers", call.asked.answer.outcome)
        self._audit.finished(call, outcome)
        # Labels of invented names would grow without limit.
        known = outcome.tool_name if call.entry else "unknown"
        self._metrics.call(known, outcome.status, outcome.execution_time)

    def _card(self, call: CallState) -> _Card:
        """Return the fields shared by all events of a tool; invalid names are not cached."""
        card = self._cards.get(call.tool_name)
        if card is None or card.tool is not call.tool:
            card = _Card(call.tool_name, call.tool)
            if call.tool is not None:
                self._cards[call.tool_name] = card
        return card

    def _keep(self, call: CallState, outcome: CallOutcome, data: bytes | None) -> None:
        if data is None:
            result = dump_json(outcome.result.to_dict())
        else:
            result = b'{"success":true,"data":%b,"error":null}' % data
        if len(result) > MAX_RESULT_BYTES:
            kept = {
                "success": outcome.success,
                "data": {"truncated": True, "artifact_id": outcome.artifact_id},
                "error": outcome.result.error,
            }
            result = orjson.dumps(kept)
        context = call.context
        row = (
            call.operation_id,
            call.request.id,
            context.log.session_id,
            context.run_id,
            context.agent_id,
            call.tool_name,
            call.arguments_json,
            outcome.status,
            call.started_at,
            result.decode(),
            outcome.text,
            outcome.result.success,
            outcome.status == "skipped",
            outcome.cached,
            outcome.duplicate_of,
            outcome.artifact_id,
            outcome.execution_time,
            None if call.decision is None else self._decision(call),
        )
        self._db.append(FINISH_CALL if call.is_claimed else ADD_CALL, row)

    def _decision(self, call: CallState) -> str:
        """Return the decision, which may quote arbitrary text from rules."""
        encoded = call.decision_json()
        if call.decision is ALLOW or self._redactor.is_text_clean(encoded.encode()):
            return encoded
        return dump_json(self._redactor.secrets_in(orjson.loads(encoded))).decode()

    def _shown(self, call: CallState) -> tuple[Any, list[str], str, str]:
        """Arguments fit to be seen, the masked paths, their JSON in the event and in the row."""
        raw = call.shown_arguments
        encoded = call.prepared.canonical if call.prepared else dump_json(raw)
        redacted: list[str] = []
        if isinstance(raw, str) or not self._redactor.is_clean(encoded):
            raw, redacted = self._redactor.arguments(raw)
            if isinstance(raw, str):
                raw = self._redactor.raw_json(raw)
            encoded = dump_json(raw)
        shown = stored = encoded.decode()
        if len(encoded) > MAX_ARGS_CHARS:
            raw = bounded(raw)
            encoded = dump_json(raw)
            shown = encoded.decode()
        if _LONG_NUMBER.search(encoded) is not None:
            shown = dump_json(exact_json(raw)).decode()
        return raw, redacted, shown, stored

    def stored_arguments(self, call: CallState) -> str:
        """The arguments that the call has now, redacted, as its record shows them."""
        return self._shown(call)[3]

    def row_head(self, call: CallState, status: str) -> tuple[Any, ...]:
        """Return the values of `START_CALL`."""
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

    def _raw_result(self, outcome: CallOutcome) -> str:
        assert outcome.result.raw_result is not None
        encoded = dump_json(outcome.result.raw_result.to_dict())
        if len(encoded) > MAX_RAW_BYTES:
            text = truncate(outcome.text, MAX_CONTENT_CHARS)
            encoded = dump_json({"type": "text", "data": text})
        return encoded.decode()


class _Card:
    """Fields shared by all calls of one tool: name as JSON, kind, and title arguments."""

    __slots__ = ("_keys", "_name", "kind", "name", "tool")

    def __init__(self, tool_name: str, tool: Tool | None) -> None:
        self.tool = tool
        self.kind = tool.kind if tool else "other"
        self._name = tool_name
        self.name = quoted(tool_name)
        known = tool.parameters.get("properties") if tool else None
        self._keys = tuple(key for key in _TITLE_KEYS if known is None or key in known)

    def title(self, arguments: Any) -> str:
        """Return the title as JSON."""
        if not self._keys:
            return self.name
        return quoted(title(self._name, arguments))


def _error(outcome: CallOutcome) -> str:
    result = outcome.result
    data = result.data if outcome.status == "denied" else None
    wait = data.get("retry_after_ms") if isinstance(data, dict) else None
    error: dict[str, Any] = {
        "code": result.code or outcome.status,
        "message": truncate(result.error or outcome.status, 4000),
        "retryable": wait is not None,
    }
    if wait is not None:
        error["retry_after_ms"] = wait
    if outcome.status == "invalid_arguments" and (reported := problems_in(result.data)):
        error["details"] = {"errors": reported}
    return dump_json(error).decode()


def title(tool_name: str, arguments: Any) -> str:
    """Return one line for a card: the tool and its main argument."""
    if isinstance(arguments, dict):
        for key in _TITLE_KEYS:
            subject = arguments.get(key)
            if isinstance(subject, str) and subject:
                line = subject if len(subject) < 100 else truncate(subject, 100, "…")
                return f"{tool_name}: {' '.join(line.split())}"
    return tool_name


def bounded(arguments: Any) -> Any:
    """Return arguments that fit into an event: long strings are truncated, with their length."""
    if not isinstance(arguments, dict):
        return truncate(arguments, MAX_ARGS_CHARS) if isinstance(arguments, str) else arguments
    if _size(arguments) <= MAX_ARGS_CHARS:
        return arguments
    return _shortened(arguments, 2000)


def _size(value: Any) -> int:
    """Return a cheap upper estimate of the length of the JSON text."""
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
