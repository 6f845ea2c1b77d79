"""Encoding of a turn as chunks of a chat completion.

Accepts the same turns as the scripted Anthropic server. `RawData` is the raw data of one event,
`Event` additional fields of a chunk. A turn that stops with `UNSAID` sends neither a finish reason
nor usage.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.scripted_anthropic.turns import (
    Block,
    Cut,
    Event,
    Gate,
    RawData,
    StreamError,
    Turn,
    Wait,
)
from tests.support.scripted_anthropic.wire import Action, Identity

UNSAID = "unsaid"
_REASONS = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
# delta type -> (its field, the field of a chunk's delta)
_PIECES = {
    "text_delta": ("text", "content"),
    "thinking_delta": ("thinking", "reasoning_content"),
}


def error_body(kind: str, message: str, request_id: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_event(error: StreamError, request_id: str) -> bytes:
    return data(error_body(error.type, error.message, request_id))


def stream(turn: Turn, who: Identity) -> Iterator[Action]:
    """Yield what to send and where to wait; ends early at a cut or an error."""
    yield b": keep-alive\n\n"
    yield _chunk(who, {"role": "assistant", "content": ""})
    calls = 0
    for part in turn.parts:
        pieces = _block(part, calls) if isinstance(part, Block) else [part]
        for piece in pieces:
            yield from _sent(piece, who)
            if isinstance(piece, StreamError | Cut):
                return
        calls += isinstance(part, Block) and part.start["type"] == "tool_use"
    if turn.stop != UNSAID:
        yield _chunk(who, {}, reason=_REASONS.get(turn.stop, turn.stop))
        yield data({**_head(who), "choices": [], "usage": _usage(turn)})
    if turn.finish:
        yield b"data: [DONE]\n\n"


def whole(turn: Turn, who: Identity) -> dict[str, Any]:
    """Not supported: tests do not request complete responses."""
    raise NotImplementedError


def data(value: Any) -> bytes:
    """Return one event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _block(block: Block, index: int) -> Iterator[Any]:
    if block.start["type"] == "tool_use":
        function = {"name": block.start["name"], "arguments": ""}
        head = {"index": index, "id": block.start["id"], "type": "function", "function": function}
        yield {"tool_calls": [head]}
    for piece in block.body:
        if not isinstance(piece, Mapping):
            yield piece
        elif piece["type"] == "input_json_delta":
            arguments = {"arguments": piece["partial_json"]}
            yield {"tool_calls": [{"index": index, "function": arguments}]}
        elif piece["type"] in _PIECES:
            name, field = _PIECES[piece["type"]]
            yield {field: piece[name]}


def _sent(piece: Any, who: Identity) -> Iterator[Action]:
    match piece:
        case StreamError():
            yield error_event(piece, who.request_id)
        case Event(_, fields):
            yield data({**_head(who), **fields})
        case RawData(_, text):
            yield f"data: {text}\n\n".encode()
        case Gate() | Wait() | Cut():
            yield piece
        case _:
            yield _chunk(who, piece)


def _chunk(who: Identity, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return data({**_head(who), "choices": [choice], "usage": None})


def _head(who: Identity) -> dict[str, Any]:
    return {
        "id": who.message_id,
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": who.model,
    }


def _usage(turn: Turn) -> dict[str, Any]:
    usage = turn.usage
    prompt = usage.input_tokens + usage.cache_read_input_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_input_tokens},
    }
