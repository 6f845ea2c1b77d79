"""Encoding of a turn as an event stream, or as one JSON message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

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

Action = bytes | Gate | Wait | Cut


class Wire(Protocol):
    """Encoder of turns and errors of a provider; this module is one."""

    def error_body(self, kind: str, message: str, request_id: str) -> dict[str, Any]: ...

    def error_event(self, error: StreamError, request_id: str) -> bytes: ...

    def stream(self, turn: Turn, who: Identity) -> Iterator[Action]: ...

    def whole(self, turn: Turn, who: Identity) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Additions of the server to a turn: its IDs, and the requested model."""

    message_id: str
    request_id: str
    model: str


def error_body(kind: str, message: str, request_id: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": request_id,
    }


def error_event(error: StreamError, request_id: str) -> bytes:
    return _event("error", error_body(error.type, error.message, request_id))


def stream(turn: Turn, who: Identity) -> Iterator[Action]:
    """Yield what to send and where to wait; ends early at a cut or an error."""
    yield _event("message_start", {"type": "message_start", "message": _begun(turn, who)})
    index = 0
    for part in turn.parts:
        if not isinstance(part, Block):
            yield from _step(part, who)
            if isinstance(part, StreamError | Cut):
                return
            continue
        yield from _block(part, index, who)
        if any(isinstance(piece, StreamError | Cut) for piece in part.body):
            return
        index += 1
    yield _event("message_delta", _ended(turn))
    if turn.finish:
        yield _event("message_stop", {"type": "message_stop"})


def whole(turn: Turn, who: Identity) -> dict[str, Any]:
    """Return the response to a request without a stream."""
    blocks = [dict(part.whole) for part in turn.parts if isinstance(part, Block)]
    message = _begun(turn, who) | {
        "content": blocks,
        "stop_reason": turn.stop,
        "stop_sequence": turn.stop_sequence,
        "usage": asdict(turn.usage),
    }
    if turn.stop_details is not None:
        message["stop_details"] = dict(turn.stop_details)
    return message


def _block(block: Block, index: int, who: Identity) -> Iterator[Action]:
    yield _event(
        "content_block_start",
        {"type": "content_block_start", "index": index, "content_block": dict(block.start)},
    )
    if index == 0:
        yield _event("ping", {"type": "ping"})
    for piece in block.body:
        if not isinstance(piece, Mapping):
            yield from _step(piece, who)
            if isinstance(piece, StreamError | Cut):
                return
            continue
        yield _event(
            "content_block_delta",
            {"type": "content_block_delta", "index": index, "delta": dict(piece)},
        )
    if block.closed:
        yield _event("content_block_stop", {"type": "content_block_stop", "index": index})


def _step(step: Any, who: Identity) -> Iterator[Action]:
    match step:
        case StreamError():
            yield error_event(step, who.request_id)
        case Event(name, data):
            yield _event(name, data)
        case RawData(name, data):
            yield f"event: {name}\ndata: {data}\n\n".encode()
        case Gate() | Wait() | Cut():
            yield step


def _begun(turn: Turn, who: Identity) -> dict[str, Any]:
    return {
        "id": who.message_id,
        "type": "message",
        "role": "assistant",
        "model": who.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": asdict(turn.usage) | {"output_tokens": 1},
    }


def _ended(turn: Turn) -> dict[str, Any]:
    delta: dict[str, Any] = {"stop_reason": turn.stop, "stop_sequence": turn.stop_sequence}
    if turn.stop_details is not None:
        delta["stop_details"] = dict(turn.stop_details)
    usage = {"output_tokens": turn.usage.output_tokens}
    return {"type": "message_delta", "delta": delta, "usage": usage}


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
