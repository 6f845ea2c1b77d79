"""Ephemeral events: live output. A gap shows as a jump in `chunk_from`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.events.durable import ProgressFigure
from app.events.envelope import EphemeralEvent


class TextDelta(EphemeralEvent):
    """Text of the model: chunks `chunk_from`..`chunk_to` (exclusive) of the message."""

    type: Literal["text_delta"] = "text_delta"
    message_id: str
    chunk_from: int = Field(ge=0)
    chunk_to: int
    text: str
    snapshot: bool = Field(default=False, description="The full text so far, after a subscribe.")


class ThinkingDelta(EphemeralEvent):
    """Thinking of the model."""

    type: Literal["thinking_delta"] = "thinking_delta"
    message_id: str
    chunk_from: int = Field(ge=0)
    chunk_to: int
    text: str
    snapshot: bool = False


class ToolInputDelta(EphemeralEvent):
    """Fragment of the JSON arguments of a call that the model is writing."""

    type: Literal["tool_input_delta"] = "tool_input_delta"
    message_id: str
    tool_name: str
    partial_json: str


class ToolResultStreamed(EphemeralEvent):
    """Live output of a running call."""

    type: Literal["tool_result_streamed"] = "tool_result_streamed"
    stream: Literal["stdout", "stderr", "content"]
    chunk_from: int = Field(ge=0)
    chunk_to: int
    text: str | None = None
    block: dict[str, Any] | None = None
    snapshot: bool = False


class ProcessProgress(EphemeralEvent):
    """Progress report of a running tool, between the sampled durable ones."""

    type: Literal["process_progress"] = "process_progress"
    op_seq: int = Field(ge=1)
    stage: str
    message: str | None = None
    progress: ProgressFigure | None = None
