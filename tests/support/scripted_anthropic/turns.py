"""Elements of a script.

    Turn(thinking("hm"), text("I look."), tool_use("bash", {"command": "ls"}))
    Turn(text("Hel", gate, "lo"))                        waits at the gate
    Turn(text("par", stream_error()))                    fails in the middle
    Turn(tool_use("write", raw='{"path": "a', closed=False), stop="max_tokens")
    http_error(529)
    stream_error()                                       fails with its first event
    lambda request: Turn(text(request.last_user_text()))

A part is a block or a step; a step may also stand among the pieces of a text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.scripted_anthropic.server import Received

_PIECE = 12

_TYPE_OF_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Gate:
    """Point where the stream waits: sets `reached`, and continues after `open`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self) -> None:
        self.reached.set()
        await self._opened.wait()


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds between two events, for demonstrations; tests use a gate."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """End of the stream: regular, or with a reset connection."""

    abrupt: bool = False


@dataclass(frozen=True, slots=True)
class StreamError:
    """`event: error` on a stream with status 200, which ends with it."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """Any event, known to clients or not."""

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawData:
    """Event whose data is this text, JSON or not."""

    name: str
    data: str


Step = Gate | Wait | Cut | StreamError | Event | RawData


@dataclass(frozen=True, slots=True)
class Block:
    """Content block: its start, its deltas and steps, and its form in the whole message."""

    start: Mapping[str, Any]
    body: Sequence[Mapping[str, Any] | Step]
    whole: Mapping[str, Any]
    closed: bool = True


Part = Block | Step


@dataclass(frozen=True, slots=True)
class TurnUsage:
    input_tokens: int = 25
    output_tokens: int = 15
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class HttpError:
    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """Replacement for the usual body: any JSON value, or text."""


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """Status 200 with something other than a stream, as from a wrong base URL."""

    body: str
    content_type: str = "text/html"


class Turn:
    """One response of the model.

    Args:
        parts: blocks and steps, in order.
        stop: stop reason; by default from the blocks.
        usage: token counts.
        stop_details: sent with the stop reason, for refusals.
        chunk_bytes: bytes per piece on the wire, to split characters and events.
        finish: False omits `message_stop`.
    """

    def __init__(
        self,
        *parts: Part,
        stop: str | None = None,
        usage: TurnUsage | None = None,
        stop_details: Mapping[str, Any] | None = None,
        stop_sequence: str | None = None,
        chunk_bytes: int | None = None,
        finish: bool = True,
    ) -> None:
        calls = any(isinstance(part, Block) and part.start["type"] == "tool_use" for part in parts)
        self.parts = parts
        self.stop = stop or ("tool_use" if calls else "end_turn")
        self.usage = usage or TurnUsage()
        self.stop_details = stop_details
        self.stop_sequence = stop_sequence
        self.chunk_bytes = chunk_bytes
        self.finish = finish

    def with_parts(self, parts: tuple[Part, ...]) -> Turn:
        """Return the same turn with other parts."""
        turn = copy(self)
        turn.parts = parts
        return turn


Answer = Turn | HttpError | StreamError | PlainAnswer
ScriptItem = Answer | Callable[["Received"], Answer | Awaitable[Answer]]


def text(*pieces: str | Step) -> Block:
    """Return a text block; a single string is sent in pieces of twelve characters."""
    parts = _pieces(pieces[0]) if len(pieces) == 1 and isinstance(pieces[0], str) else pieces
    body = [_delta("text_delta", "text", part) for part in parts]
    whole = "".join(piece for piece in pieces if isinstance(piece, str))
    return Block({"type": "text", "text": ""}, body, {"type": "text", "text": whole})


def thinking(words: str, signature: str = "EqQBCgIYAhIM") -> Block:
    body = [_delta("thinking_delta", "thinking", piece) for piece in _pieces(words)]
    body.append(_delta("signature_delta", "signature", signature))
    return Block(
        {"type": "thinking", "thinking": "", "signature": ""},
        body,
        {"type": "thinking", "thinking": words, "signature": signature},
    )


def redacted_thinking(data: str) -> Block:
    whole = {"type": "redacted_thinking", "data": data}
    return Block(whole, (), whole)


def tool_use(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the word on the wire
    raw: str | Sequence[str | Step] | None = None,
    closed: bool = True,
) -> Block:
    """Return a call; without arguments only the empty piece of JSON is sent.

    Args:
        id: generated by the server if omitted.
        raw: the input's raw JSON, whole or in pieces, well-formed or not.
        closed: False omits `content_block_stop`, like a cut by `max_tokens`.
    """
    start: dict[str, Any] = {"type": "tool_use", "id": id, "name": name, "input": {}}
    if raw is None:
        written: Sequence[str | Step] = _pieces(_json(arguments)) if arguments else ()
    else:
        written = _pieces(raw) if isinstance(raw, str) else raw
    body = [_delta("input_json_delta", "partial_json", piece) for piece in ("", *written)]
    return Block(start, body, {**start, "input": dict(arguments or {})}, closed)


def unknown_block(start: Mapping[str, Any], *deltas: Mapping[str, Any]) -> Block:
    """Return a block of a type that no client knows."""
    return Block(start, deltas, start)


def ping() -> Event:
    return Event("ping", {"type": "ping"})


def cut(*, abrupt: bool = False) -> Cut:
    return Cut(abrupt)


def stream_error(kind: str = "overloaded_error", message: str = "Overloaded") -> StreamError:
    return StreamError(kind, message)


def http_error(
    status: int,
    kind: str | None = None,
    message: str = "scripted failure",
    *,
    retry_after: float | None = None,
    retry_after_ms: int | None = None,
    should_retry: bool | None = None,
) -> HttpError:
    headers = {}
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
    if retry_after_ms is not None:
        headers["retry-after-ms"] = str(retry_after_ms)
    if should_retry is not None:
        headers["x-should-retry"] = str(should_retry).lower()
    return HttpError(status, kind or _TYPE_OF_STATUS.get(status, "api_error"), message, headers)


def _delta(kind: str, name: str, piece: str | Step) -> Mapping[str, Any] | Step:
    return {"type": kind, name: piece} if isinstance(piece, str) else piece


def _pieces(words: str) -> list[str]:
    return [words[start : start + _PIECE] for start in range(0, len(words), _PIECE)]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
