"""Base of all messages on the wire.

Three classes of server message: control (about the connection), durable (a fact with a gap-free
`seq`, replayable) and ephemeral (live output with `after_seq`, droppable, healed by the durable
event that follows).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.field_problems import Details

PROTOCOL = "tollgate.v1"


class Wire(BaseModel):
    """Base of all messages: snake_case, immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    v: Literal[1] = 1


class SessionEvent(Wire):
    """Fields of every event of a session."""

    type: str
    ts: str = Field(description="Time of the event (RFC 3339, UTC).")
    session_id: str
    epoch: str = Field(description="Changes when the log is reset; a resume must name it.")


class DurableEvent(SessionEvent):
    """Event of the append-only log. Old events always load: fields are only added."""

    seq: int = Field(ge=1, description="1, 2, 3 … without gaps within one session and epoch.")
    run_id: str | None = None
    agent_id: str | None = None
    tool_call_id: str | None = None
    operation_id: str | None = Field(
        default=None, description="ID of one call attempt in all its events."
    )
    parent_tool_call_id: str | None = None
    trace_id: str | None = None


class EphemeralEvent(SessionEvent):
    """Live output between two durable events."""

    after_seq: int = Field(ge=0, description="Last durable event before this one.")
    run_id: str | None = None
    agent_id: str | None = None
    tool_call_id: str | None = None
    operation_id: str | None = None


class Part(BaseModel):
    """Base of the parts of events."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class ErrorBody(BaseModel):
    """Error in the common form of WebSocket and REST.

    The meaning of `code` never changes; `message` is for people and may change.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    code: str
    message: str
    retryable: bool = False
    retry_after_ms: int | None = None
    details: Details | None = Field(
        default=None, description="Additional details; `errors` lists every invalid field."
    )


class Usage(BaseModel):
    """Tokens of one run, as counted by the provider."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost: float | None = Field(
        default=None, description="Cost in US dollars, if every model of the run has a price."
    )
