"""Events of two earlier formats, derived from today's, for clients that only support those.

They are sent beside today's events, with `after_seq`, the `seq` of the event that they derive from,
so a replay sends them again. They are not part of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson
from pydantic import Field

from app.core.text import json_default
from app.events.envelope import SessionEvent

OlderStyle = Literal["netaclaw", "countbot"]
"""Origin of the format: `tool_call` and `tool_result`, or the five events from `tool_start` on."""
_HUNDRED = 100.0
_KINDS = (
    *(b'"tool_call_', b'"process_progress"', b'"process_event"', b'"message_com'),
    *(b'"run_finished"', b'"subagent_finished"'),
)


class OlderEvent(SessionEvent):
    """Common fields of legacy events."""

    after_seq: int = Field(ge=0, description="Event that it is derived from or follows.")
    run_id: str | None = None
    agent_id: str | None = None


class OlderCallEvent(OlderEvent):
    """Common fields of legacy events about one call."""

    tool_call_id: str
    tool_name: str


class OlderToolCall(OlderCallEvent):
    """Processing of a call has started. `netaclaw`: followed by one `tool_result`."""

    type: Literal["tool_call"] = "tool_call"
    args: Any
    call: dict[str, Any] = Field(
        description="`{id, type: function, function: {name, arguments}}`, with the arguments as "
        "text."
    )


class OlderToolResult(OlderCallEvent):
    """Result of a call."""

    type: Literal["tool_result"] = "tool_result"
    success: bool
    status: str
    content: str = Field(description="Output for the model.")
    error: str | None = None
    duration_ms: float


class OlderToolStart(OlderCallEvent):
    """Processing of a call has started. `countbot`: followed by `tool_complete` or `tool_error`."""

    type: Literal["tool_start"] = "tool_start"
    arguments: Any


class OlderToolProgress(OlderCallEvent):
    """Progress of a call."""

    type: Literal["tool_progress"] = "tool_progress"
    progress: float = Field(ge=0, le=100)
    message: str | None = None


class OlderToolComplete(OlderCallEvent):
    """A call succeeded."""

    type: Literal["tool_complete"] = "tool_complete"
    result: str
    duration_ms: float


class OlderToolError(OlderCallEvent):
    """A call failed, was refused, or was stopped."""

    type: Literal["tool_error"] = "tool_error"
    error: str
    status: str
    duration_ms: float


class OlderBatchComplete(OlderEvent):
    """All calls of a batch have ended."""

    type: Literal["batch_tools_complete"] = "batch_tools_complete"
    tool_call_ids: list[str]
    succeeded: int
    failed: int


class OlderEvents:
    """Derives legacy events from the events of one session, in order."""

    def __init__(self, style: OlderStyle) -> None:
        self._style = style
        self._names: dict[str, str] = {}
        self._batches: dict[str | None, _CallBatch] = {}

    def of(self, body: bytes) -> list[bytes]:
        """Return the legacy events derived from an event."""
        if not _concerns_calls(body):
            return []
        event = orjson.loads(body)
        made = self._netaclaw(event) if self._style == "netaclaw" else self._countbot(event)
        return [item.model_dump_json(exclude_none=True).encode() for item in made]

    def _netaclaw(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        if event["type"] == "tool_call_started":
            yield OlderToolCall(**_head(event), args=event["args"], call=_call(event))
        elif event["type"] == "tool_call_completed":
            yield OlderToolResult(
                **_head(event),
                success=event["status"] == "success",
                status=event["status"],
                content=_text(event),
                error=_error(event),
                duration_ms=event["duration_ms"],
            )

    def _countbot(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        kind, run_id = event["type"], event.get("run_id")
        if kind == "run_finished":
            yield from self._batch_over(event)
        elif kind == "subagent_finished":
            yield from self._batch_over({**event, "run_id": event["child_run_id"]})
        elif kind == "message_completed":
            yield from self._asked(event)
        elif kind == "tool_call_started":
            self._names[event["tool_call_id"]] = event["tool_name"]
            self._batches.setdefault(run_id, _CallBatch([])).started(event["tool_call_id"])
            yield OlderToolStart(**_head(event), arguments=event["args"])
        elif kind in ("process_progress", "process_event"):
            yield from self._progress(event)
        elif kind == "tool_call_completed":
            yield from self._ended(event)

    def _asked(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        """Yield the events of a message that requests calls: of the model, or of a user."""
        if event["role"] == "assistant":
            # Calls requested before and not started yet never start.
            yield from self._batch_over(event)
        asked = [item["id"] for item in event["content"] if item.get("type") == "tool_use"]
        if asked:
            self._batches[event.get("run_id")] = _CallBatch(asked)

    def _progress(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        percent = (event.get("progress") or {}).get("percent")
        name = self._names.get(event.get("tool_call_id", ""))
        # The sampled event says again what a live one has said.
        if percent is None or name is None or event["type"] == "process_event":
            return
        yield OlderToolProgress(
            **_head({**event, "tool_name": name}),
            progress=min(max(float(percent), 0.0), _HUNDRED),
            message=event.get("message"),
        )

    def _ended(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        call_id, run_id = event["tool_call_id"], event.get("run_id")
        self._names.pop(call_id, None)
        succeeded = event["status"] == "success"
        if succeeded:
            yield OlderToolComplete(
                **_head(event), result=_text(event), duration_ms=event["duration_ms"]
            )
        else:
            yield OlderToolError(
                **_head(event),
                error=_error(event) or _text(event) or event["status"],
                status=event["status"],
                duration_ms=event["duration_ms"],
            )
        batch = self._batches.get(run_id)
        if batch is not None and batch.ended(call_id, succeeded=succeeded):
            yield from self._batch_over(event)

    def _batch_over(self, event: Mapping[str, Any]) -> Iterator[OlderEvent]:
        """Yield the end of the batch of an event's run."""
        batch = self._batches.pop(event.get("run_id"), None)
        if batch is not None:
            yield OlderBatchComplete(
                **_envelope(event),
                tool_call_ids=batch.ids,
                succeeded=batch.succeeded,
                failed=len(batch.ids) - batch.succeeded,
            )


class _CallBatch:
    """Calls that one message requested together."""

    def __init__(self, ids: list[str]) -> None:
        self.ids = list(dict.fromkeys(ids))
        self.succeeded = 0
        self._open = set(ids)

    def started(self, call_id: str) -> None:
        if call_id not in self.ids:
            self.ids.append(call_id)
            self._open.add(call_id)

    def ended(self, call_id: str, *, succeeded: bool) -> bool:
        """Return whether the last event has been sent."""
        self.succeeded += succeeded and call_id in self._open
        self._open.discard(call_id)
        return not self._open


def _concerns_calls(body: bytes) -> bool:
    """Return whether the type, which is at the start, concerns calls."""
    head = body[:64]
    return any(kind in head for kind in _KINDS)


def _envelope(event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ts": event["ts"],
        "session_id": event["session_id"],
        "epoch": event["epoch"],
        "after_seq": event.get("seq") or event.get("after_seq", 0),
        "run_id": event.get("run_id"),
        "agent_id": event.get("agent_id"),
    }


def _head(event: Mapping[str, Any]) -> dict[str, Any]:
    named = {"tool_call_id": event["tool_call_id"], "tool_name": event["tool_name"]}
    return {**_envelope(event), **named}


def _call(event: Mapping[str, Any]) -> dict[str, Any]:
    arguments = orjson.dumps(event["args"], json_default).decode()
    function = {"name": event["tool_name"], "arguments": arguments}
    return {"id": event["tool_call_id"], "type": "function", "function": function}


def _text(event: Mapping[str, Any]) -> str:
    return "\n".join(item["text"] for item in event["content"] if item.get("type") == "text")


def _error(event: Mapping[str, Any]) -> str | None:
    error = event.get("error")
    return None if error is None else str(error["message"])
