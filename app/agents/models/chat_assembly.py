"""Assembly of chat completion chunks into deltas and the whole message.

Compatible servers differ most in how they stream calls: without an index, without an ID, with the
ID in every piece, with the finish reason of a plain response. Everything unambiguous is accepted.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from app.agents.models.assembly import (
    TOOL_USE,
    CallIds,
    MalformedStream,
    is_whole,
    stop_reason,
    token_count,
    tool_use,
)
from app.agents.models.protocol import (
    Block,
    Completed,
    ModelEvent,
    ModelTextDelta,
    ModelThinkingDelta,
    ModelToolInputDelta,
    TokenUsage,
)
from app.core.text import clean, dump_json

_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_MAX_CALLS = 256

Kind = Literal["text", "thinking"]


@dataclass
class _OpenTextBlock:
    """Open block of text or thinking."""

    index: int
    kind: Kind
    pieces: list[str] = field(default_factory=list)

    def block(self) -> Block:
        written = "".join(self.pieces)
        if self.kind == "text":
            return {"type": "text", "text": written}
        return {"type": "thinking", "thinking": written, "signature": ""}


@dataclass
class _PendingCall:
    """Call in progress; reported once its ID and name are known."""

    index: int
    wire_id: str = ""
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    emitted: int | None = None

    def block(self) -> Block:
        return tool_use({"id": self.id, "name": self.name}, "".join(self.pieces))

    @property
    def whole(self) -> bool:
        """Return whether the call is complete."""
        return bool(self.name) and is_whole("".join(self.pieces))

    def news(self) -> Iterator[ModelEvent]:
        """Yield parts that have not been reported yet."""
        if not self.id or not self.name:
            return
        if self.emitted is None:
            self.emitted = 0
            yield ModelToolInputDelta(self.index, self.id, self.name, "")
        for piece in self.pieces[self.emitted :]:
            yield ModelToolInputDelta(self.index, self.id, self.name, piece)
        self.emitted = len(self.pieces)


class ChatAssembler:
    """Assembler of a message: feed each chunk in order, close it, then get the message.

    Args:
        taken: see `CallIds`.
    """

    def __init__(self, model: str, taken: Container[str] = ()) -> None:
        self._model = model
        self._ids = CallIds(taken)
        self._blocks: list[_OpenTextBlock | _PendingCall] = []
        self._calls: list[_PendingCall] = []
        self._at: dict[int, _PendingCall] = {}
        self._known: dict[str, _PendingCall] = {}
        self._refused: list[str] = []
        self._reason: str | None = None
        self._usage = TokenUsage()

    @property
    def ended(self) -> bool:
        """Return whether the model has finished."""
        return self._reason is not None

    def feed(self, chunk: object) -> Iterator[ModelEvent]:
        """Yield the deltas of a chunk.

        Raises: MalformedStream.
        """
        if not isinstance(chunk, dict):
            _refuse("a chunk is not an object")
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = clean(model)
        self._count(chunk.get("usage"))
        choice = _first_choice(chunk.get("choices"))
        if choice is None:
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            yield from self._extend(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = clean(reason)

    def close(self) -> Iterator[ModelEvent]:
        """Yield the deltas of calls without an ID.

        Raises: MalformedStream if a call that should run has no name.
        """
        if self._stop_reason() == TOOL_USE and not all(call.name for call in self._calls):
            _refuse("a tool call has no name")
        for call in self._calls:
            call.id = call.id or self._ids.own("")
            yield from call.news()

    def completed(self, request_id: str | None = None) -> Completed | None:
        """Return the whole message; None if the stream ended before the model did."""
        reason = self._stop_reason()
        if reason is None:
            return None
        runs = reason == TOOL_USE
        said = [
            block.block() for block in self._blocks if isinstance(block, _OpenTextBlock) or runs
        ]
        refusal = "".join(self._refused)
        return Completed(
            content=said,
            stop_reason=reason,
            usage=self._usage,
            model=self._model,
            dropped_tool_uses=() if runs else tuple(call.block() for call in self._calls),
            stop_details={"type": "refusal", "explanation": refusal} if refusal else None,
            request_id=request_id,
        )

    def _stop_reason(self) -> str | None:
        whole = all(call.whole for call in self._calls)
        if self._reason is None:
            # Some servers end a turn of calls without a finish reason.
            return TOOL_USE if self._calls and whole else None
        if self._refused:
            return "refusal"
        said = self._reason.lower()
        reason = _REASONS.get(said, self._reason)
        return stop_reason(reason, calls=bool(self._calls), whole=whole)

    def _extend(self, delta: dict[str, Any]) -> Iterator[ModelEvent]:
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        yield from self._write("thinking", thinking)
        yield from self._write("text", delta.get("content"))
        refusal = delta.get("refusal")
        if refusal:
            yield from self._write("text", refusal)
            self._refused.append(clean(refusal))
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            yield from self._call(piece)

    def _write(self, kind: Kind, piece: object) -> Iterator[ModelEvent]:
        if piece is None or piece == "":
            return
        if not isinstance(piece, str):
            _refuse(f"a piece of {kind} is not a string")
        piece = clean(piece)
        last = self._blocks[-1] if self._blocks else None
        if not isinstance(last, _OpenTextBlock) or last.kind != kind:
            last = _OpenTextBlock(len(self._blocks), kind)
            self._blocks.append(last)
        last.pieces.append(piece)
        event = ModelTextDelta if kind == "text" else ModelThinkingDelta
        yield event(last.index, piece)

    def _call(self, piece: object) -> Iterator[ModelEvent]:
        if not isinstance(piece, dict):
            _refuse("a tool call is not an object")
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        wire_id, name = _word(piece.get("id")), _word(function.get("name"))
        index = piece.get("index")
        call = self._find(index if isinstance(index, int) else None, wire_id, name)
        if wire_id and not call.wire_id:
            call.wire_id, call.id = wire_id, self._ids.own(wire_id)
            self._known[wire_id] = call
        # Some servers repeat the name in each piece, so the first one applies.
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = dump_json(arguments).decode()
        if isinstance(arguments, str) and arguments:
            call.pieces.append(clean(arguments))
        yield from call.news()

    def _find(self, index: int | None, wire_id: str, name: str) -> _PendingCall:
        """Return the call that a piece belongs to, or a new one."""
        if index is not None:
            call = self._at.get(index)
            another = call is not None and call.wire_id and wire_id and call.wire_id != wire_id
        elif wire_id:
            call, another = self._known.get(wire_id), False
        else:
            call = self._calls[-1] if self._calls else None
            another = True
        if call is None or (another and name and call.name):
            # A new name starts a call, even if the index says otherwise.
            if len(self._calls) >= _MAX_CALLS:
                _refuse(f"more than {_MAX_CALLS} tool calls")
            call = _PendingCall(len(self._blocks))
            self._blocks.append(call)
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        return call

    def _count(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = token_count(details.get("cached_tokens")) if isinstance(details, dict) else 0
        prompt = token_count(usage.get("prompt_tokens"))
        cached = min(cached, prompt)
        self._usage = TokenUsage(
            input_tokens=prompt - cached,
            output_tokens=token_count(usage.get("completion_tokens")),
            cache_read_tokens=cached,
        )


def _first_choice(choices: object) -> dict[str, Any] | None:
    """Return the only requested choice; chunks with usage have none."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return None


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _refuse(problem: str) -> NoReturn:
    raise MalformedStream(problem)
