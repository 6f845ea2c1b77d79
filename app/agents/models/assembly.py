"""Assembly of a message stream into deltas and the whole message.

The SDK's own accumulator is not used: it silently turns truncated input JSON into a partial object,
and fails a whole turn on one malformed call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, NoReturn

from app.agents.models.protocol import (
    Block,
    Completed,
    ModelEvent,
    ModelTextDelta,
    ModelThinkingDelta,
    ModelToolInputDelta,
    TokenUsage,
)
from app.core.ids import call_id
from app.core.text import clean, scrub

# delta type -> (its block type, field of the delta)
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_creation_tokens",
}

# The sum of many such counts still fits into 64 bits.
_MAX_COUNT = 1 << 48

# Format accepted by every provider and by our gate; other IDs are replaced.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

_EMPTY_TEXT: Block = {"type": "text", "text": ""}

TOOL_USE, END_TURN = "tool_use", "end_turn"
# The model was stopped early: its last block may be incomplete.
_CUT = frozenset(
    {
        *("max_tokens", "max_output_tokens", "length", "model_length"),
        *("model_context_window_exceeded", "context_length_exceeded"),
        *("refusal", "content_filter", "safety", "recitation", "blocklist"),
        *("error", "abort", "aborted", "cancelled", "canceled", "timeout"),
        "insufficient_system_resource",
    }
)
# The model has ended its turn; servers use any of these if the turn has calls.
_ENDED = frozenset(
    {
        *(TOOL_USE, END_TURN, "stop_sequence", "pause_turn"),
        *("stop", "tool_calls", "tool_call", "function_call", "eos", "eos_token"),
    }
)


class MalformedStream(Exception):
    """Event with an undocumented shape; raised and handled only in this package."""


@dataclass
class _OpenBlock:
    """Open block: its start, and the pieces since."""

    start: Block
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    closed: bool = False

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))

    @property
    def whole(self) -> bool:
        """Return whether a call is complete; other blocks always are."""
        return self.kind != TOOL_USE or (self.closed and is_whole("".join(self.pieces)))


class CallIds:
    """Unique call IDs in a format that every provider accepts.

    Args:
        taken: IDs already in the conversation, which are not reused.
    """

    def __init__(self, taken: Container[str]) -> None:
        self._taken = taken
        self._used: set[str] = set()

    def own(self, wire_id: str) -> str:
        """Return the server's ID if it is valid and unique, otherwise a generated one."""
        fits = _ID.fullmatch(wire_id) and wire_id not in self._taken and wire_id not in self._used
        own = wire_id if fits else call_id("call")
        self._used.add(own)
        return own


class MessageAssembler:
    """Assembler of a message: feed each event's data in order, then get the message.

    Args:
        taken: see `CallIds`.
    """

    def __init__(self, model: str, taken: Container[str] = ()) -> None:
        self._model = model
        self._ids = CallIds(taken)
        self._blocks: dict[int, _OpenBlock] = {}
        self._counts: dict[str, int] = {}
        self._stop_reason: str | None = None
        self._stopped = False
        self._stop_details: dict[str, Any] | None = None

    def feed(self, name: str, data: str) -> ModelEvent | None:
        """Return the delta of an event, if any; unknown events have none.

        Raises: MalformedStream.
        """
        match name:
            case "message_start":
                self._start(_object(parse_event(data).get("message"), "message"))
            case "content_block_start":
                return self._open(parse_event(data))
            case "content_block_delta":
                return self._extend(parse_event(data))
            case "content_block_stop":
                self._close(parse_event(data))
            case "message_delta":
                self._end(parse_event(data))
            case "message_stop":
                self._stopped = True
        return None

    def completed(self, request_id: str | None = None) -> Completed | None:
        """Return the whole message; None if the stream ended before the model did."""
        if self._stop_reason is None and not self._stopped:
            return None
        content = [_finished(self._blocks[index]) for index in sorted(self._blocks)]
        content = [block for block in content if block != _EMPTY_TEXT]
        calls = [block for block in self._blocks.values() if block.kind == TOOL_USE]
        reason = stop_reason(
            self._stop_reason or END_TURN,
            calls=bool(calls),
            whole=all(block.whole for block in calls),
        )
        dropped: tuple[Block, ...] = ()
        if reason != TOOL_USE:
            dropped = tuple(block for block in content if block.get("type") == TOOL_USE)
            content = [block for block in content if block.get("type") != TOOL_USE]
        return Completed(
            content=content,
            stop_reason=reason,
            usage=TokenUsage(**self._counts),
            model=self._model,
            dropped_tool_uses=dropped,
            stop_details=self._stop_details,
            request_id=request_id,
        )

    def _start(self, message: dict[str, Any]) -> None:
        model = message.get("model")
        if isinstance(model, str) and model:
            self._model = clean(model)
        self._count(message.get("usage"))

    def _open(self, event: dict[str, Any]) -> ModelEvent | None:
        start = _object(event.get("content_block"), "content_block")
        index = _index(event)
        block = _OpenBlock(scrub(start))
        self._blocks[index] = block
        if block.kind == "tool_use":
            name, own = _text(block.start, "name"), self._ids.own(_text(block.start, "id"))
            block.start["id"] = own
            return ModelToolInputDelta(index, own, name, "")
        return None

    def _extend(self, event: dict[str, Any]) -> ModelEvent | None:
        index = _index(event)
        delta = _object(event.get("delta"), "delta")
        block = self._blocks.get(index)
        wanted = _DELTAS.get(_text(delta, "type"))
        if block is None or wanted is None or block.kind != wanted[0]:
            return None
        piece = delta.get(wanted[1])
        if not isinstance(piece, str):
            _refuse(f"{wanted[1]} is not a string")
        if wanted[1] == "signature":
            block.signature += piece
            return None
        if not piece:
            return None
        piece = clean(piece)
        block.pieces.append(piece)
        return _delta(index, block, piece)

    def _close(self, event: dict[str, Any]) -> None:
        block = self._blocks.get(_index(event))
        if block is not None:
            block.closed = True

    def _end(self, event: dict[str, Any]) -> None:
        delta = _object(event.get("delta"), "delta")
        reason = delta.get("stop_reason")
        if isinstance(reason, str) and reason:
            self._stop_reason = clean(reason)
        details = delta.get("stop_details")
        if isinstance(details, dict):
            self._stop_details = scrub(details)
        self._count(event.get("usage"))

    def _count(self, usage: Any) -> None:
        # Counts are running totals, so a later one replaces an earlier one.
        if not isinstance(usage, dict):
            return
        for theirs, ours in _COUNTS.items():
            count = usage.get(theirs)
            if isinstance(count, int):
                self._counts[ours] = token_count(count)


def _delta(index: int, block: _OpenBlock, piece: str) -> ModelEvent:
    if block.kind == "text":
        return ModelTextDelta(index, piece)
    if block.kind == "thinking":
        return ModelThinkingDelta(index, piece)
    return ModelToolInputDelta(index, block.start["id"], block.start["name"], piece)


def _finished(block: _OpenBlock) -> Block:
    written = "".join(block.pieces)
    if block.kind == "text":
        return {"type": "text", "text": str(block.start.get("text") or "") + written}
    if block.kind == "thinking":
        return {
            "type": "thinking",
            "thinking": str(block.start.get("thinking") or "") + written,
            "signature": str(block.start.get("signature") or "") + block.signature,
        }
    if block.kind == "tool_use":
        return tool_use(block.start, written)
    return block.start


def stop_reason(said: str, *, calls: bool, whole: bool) -> str:
    """Return the stop reason of a turn: `tool_use` only if it contains calls that may run.

    Servers end a turn of calls with many reasons, and some end a turn without calls with
    `tool_use`. So the calls decide, unless the model was stopped during its turn.

    Args:
        said: the provider's reason.
        calls: whether the turn contains calls.
        whole: whether every call is complete.
    """
    reason = said.lower().replace("-", "_")
    if reason in _CUT:
        return reason
    if calls:
        # An unknown reason may mean that the turn was cut off.
        return TOOL_USE if whole or reason in _ENDED else said
    return END_TURN if reason == TOOL_USE else said


def is_whole(written: str) -> bool:
    """Return whether a call's input is complete: a JSON object."""
    return isinstance(_parsed(written), dict)


def tool_use(start: Block, written: str) -> Block:
    """Return the block of a call that started as `start`, with its input as written."""
    call: Block = {"type": "tool_use", "id": start["id"], "name": start["name"], "input": {}}
    if not written.strip():
        # A call without arguments sends no JSON, or its input in the start event.
        begun = start.get("input")
        call["input"] = begun if isinstance(begun, dict) else {}
        return call
    value = _parsed(written)
    if isinstance(value, dict):
        call["input"] = scrub(value)
    else:
        call["raw_input"] = written
    return call


def _parsed(written: str) -> Any:
    """Return a call's input as parsed JSON; None if invalid."""
    try:
        return _STRICT.decode(written)
    except (ValueError, RecursionError):
        return None


def parse_event(data: str) -> dict[str, Any]:
    """Parse an event. Raises: MalformedStream if `data` is not a JSON object."""
    try:
        return _object(json.loads(data), "event")
    except (ValueError, RecursionError):
        raise MalformedStream("event is not JSON") from None


def token_count(value: object) -> int:
    """Return a provider's count if it is plausible and can be stored, otherwise 0."""
    return value if isinstance(value, int) and 0 < value < _MAX_COUNT else 0


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Made once: a decoder costs more than what it decodes.
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{name} is not an object")
    return value


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text:
        _refuse(f"{name} is missing")
    return text


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        _refuse("index is not a number")
    return index


def _refuse(problem: str) -> NoReturn:
    raise MalformedStream(problem)
