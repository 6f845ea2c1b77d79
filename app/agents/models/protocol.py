"""Protocol between the agent loop and models, independent of any SDK.

Messages are `{"role": "user" | "assistant", "content": [block, …]}`, the form of session entries.
The blocks:

    {"type": "text", "text"}
    {"type": "thinking", "thinking", "signature"}
    {"type": "redacted_thinking", "data"}
    {"type": "tool_use", "id", "name", "input"}      and `raw_input`, see `Completed`
    {"type": "tool_result", "tool_use_id", "content": text or blocks, "is_error"}
    {"type": "image", "source"}

Text blocks with `"reminder": true` end the last user message: they change with every request, so a
provider's cache ends before them.
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
    """Request for one turn.

    Attributes:
        shared_system: beginning of `system` shared by other sessions, so that it can be cached
            separately.
        tools: `{"name", "description", "input_schema"}` each.
        answer_only: tools are included only for earlier calls; the model must not call any.
        max_tokens: maximum output tokens, including thinking.
        temperature: sent only when set; newer models refuse it.
        thinking_budget: tokens for manual thinking, at least 1024 and below `max_tokens`.
        adaptive_thinking: the model decides when and how long to think.
        effort: effort level of the model; sent only if set.

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
    """Tokens of one request; the total input is the sum of the three input counts."""

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
    """Piece of the text block at `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelThinkingDelta:
    """Piece of the thinking block at `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelToolInputDelta:
    """Piece of a tool call's input JSON; the first one of a call is empty and has its name."""

    index: int
    tool_use_id: str
    name: str
    partial_json: str


@dataclass(frozen=True, slots=True)
class Completed:
    """Complete response.

    `content` contains `tool_use` blocks only if `stop_reason` is `tool_use`: only these may run,
    and all of them need a `tool_result` in the next user message. Servers end such a turn with many
    reasons, so complete calls decide, not the reason. For any other reason the model was stopped
    during its turn; its calls are in `dropped_tool_uses`, to be shown but never executed or sent
    back.

    A call whose input is not a JSON object has `"input": {}` and the original text in
    `"raw_input"`: answer it with invalid arguments, and run its siblings.

    Blocks of unknown types are stored as they started. Empty text blocks are omitted.

    Attributes:
        stop_reason: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `pause_turn`, `refusal`,
            `model_context_window_exceeded`, or an unknown, newer one.
        model: name of the answering model at the provider.
        asked: name of the answering model in the settings: differs from the request's if a fallback
            answered; empty without a choice.
        stop_details: why the model refused, if the provider says so.
        request_id: ID of the request at the provider, for its support.
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

        Closing the generator closes the provider's stream; wrap it in `contextlib.aclosing`, so
        that a cancelled consumer closes it immediately.

        Raises: ModelFailed with `details` `provider_code`, `status` (HTTP, or None), `retryable`
        and, if known, `request_id` and `retry_after_ms`. A request is never repeated after its
        first delta.
        """

    async def aclose(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
