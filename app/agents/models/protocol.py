"""What the agent loop asks of a model, and what a model answers, free of any SDK.

Messages are `{"role": "user" | "assistant", "content": [block, …]}`, the form that
session entries keep. The blocks:

    {"type": "text", "text"}
    {"type": "thinking", "thinking", "signature"}
    {"type": "redacted_thinking", "data"}
    {"type": "tool_use", "id", "name", "input"}      and `raw_input`, see `Completed`
    {"type": "tool_result", "tool_use_id", "content": text or blocks, "is_error"}
    {"type": "image", "source"}

Text blocks with `"reminder": true` end the last user message: they change with every request, so
what a provider shall cache ends before them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.core.errors import InvalidInput

Block = dict[str, Any]
Message = Mapping[str, Any]
Effort = Literal["low", "medium", "high", "xhigh", "max"]

_LEAST_THINKING = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One turn's question.

    Attributes:
        shared_system: the beginning of `system` that requests of other sessions share, so that it
            may be cached apart.
        tools: `{"name", "description", "input_schema"}` each.
        answer_only: the tools stand there for the calls so far; the model must not call any.
        max_tokens: upper bound on what the model writes, thinking counted in.
        temperature: sent only when set; newer models refuse it.
        thinking_budget: tokens for manual thinking, at least 1024 and below `max_tokens`.
        adaptive_thinking: let the model decide when and how long to think.
        effort: how much work the model should put in; sent only when set.

    Raises (on creation): InvalidInput naming the field.
    """

    model: str
    messages: Sequence[Message]
    max_tokens: int
    system: str = ""
    shared_system: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    answer_only: bool = False
    temperature: float | None = None
    thinking_budget: int | None = None
    adaptive_thinking: bool = False
    effort: Effort | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInput("model is empty: set a model name", field="model")
        if self.max_tokens < 1:
            raise InvalidInput(
                f"max_tokens is {self.max_tokens}: it must be at least 1", field="max_tokens"
            )
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InvalidInput(
                f"temperature is {self.temperature}: it must be between 0 and 2",
                field="temperature",
            )
        self._check_thinking()

    def _check_thinking(self) -> None:
        budget = self.thinking_budget
        if budget is None:
            return
        if self.adaptive_thinking:
            raise InvalidInput(
                "thinking_budget and adaptive_thinking cannot be combined: set one of them",
                field="thinking_budget",
            )
        if not _LEAST_THINKING <= budget < self.max_tokens:
            raise InvalidInput(
                f"thinking_budget is {budget}: it must be at least {_LEAST_THINKING}"
                f" and below max_tokens ({self.max_tokens})",
                field="thinking_budget",
            )


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one request; the input is the sum of the three input counts."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_creation_tokens + other.cache_creation_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelTextDelta:
    """A piece of the text block at `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelThinkingDelta:
    """A piece of the thinking block at `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelToolInputDelta:
    """A piece of a tool call's input JSON; the first one of a call is empty and names it."""

    index: int
    tool_use_id: str
    name: str
    partial_json: str


@dataclass(frozen=True, slots=True)
class Completed:
    """The whole answer.

    `content` holds a `tool_use` block only when `stop_reason` is `tool_use`: those, and
    no others, may run, and all of them need a `tool_result` in the next user message.
    Servers end such a turn with many reasons, so whole calls decide and not their word.
    With any other reason the model was stopped inside its turn, so the calls
    stand in `dropped_tool_uses`, to be shown and never executed or sent back.

    A call whose input is not a JSON object has `"input": {}` and the text as it came in
    `"raw_input"`: answer it as invalid arguments, and run its siblings.

    Blocks of a type unknown here are kept as they began. Empty text blocks are left out.

    Attributes:
        stop_reason: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`,
            `refusal`, `model_context_window_exceeded`, or one that is newer than this.
        model: the model that answered, as the provider names it.
        asked: the name under which the settings know it: another than the request's when a
            fallback answered; empty where nobody chooses.
        stop_details: why the model refused, where the provider says so.
        request_id: the provider's, for its support.
    """

    content: list[Block]
    stop_reason: str
    usage: TokenUsage
    model: str
    dropped_tool_uses: tuple[Block, ...] = ()
    stop_details: Mapping[str, Any] | None = None
    request_id: str | None = None
    asked: str = ""


ModelEvent = ModelTextDelta | ModelThinkingDelta | ModelToolInputDelta | Completed


class ModelClient(Protocol):
    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield deltas, then exactly one `Completed`, last.

        Closing the generator closes the provider's stream; wrap it in
        `contextlib.aclosing`, so that a cancelled consumer closes it at once.

        Raises: ModelFailed with `details` `provider_code`, `status` (HTTP, or None),
        `retryable` and, where known, `request_id` and `retry_after_ms`. A request is
        never repeated after its first delta was yielded.
        """

    async def aclose(self) -> None:
        """Let go of the connections; the client cannot be used afterwards."""
