"""Control messages: about the connection, not about a session's history."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.events.envelope import ErrorBody, Wire


class ConnectionReady(Wire):
    """The answer to `hello`: the connection is usable."""

    type: Literal["ready"] = "ready"
    connection_id: str
    server: str
    user_id: str
    heartbeat_ms: int
    limits: dict[str, int]
    features: list[str]


class Subscribed(Wire):
    """The answer to `subscribe`; replayed events `replay_from`..`head` follow it at once.

    `recovered` false means that the position is gone: load the session's snapshot.
    """

    type: Literal["subscribed"] = "subscribed"
    ref: str
    session_id: str
    epoch: str
    head: int
    recovered: bool
    replay_from: int
    pending_confirmations: list[dict[str, Any]] = Field(default_factory=list)
    pending_questions: list[dict[str, Any]] = Field(default_factory=list)
    running_calls: list[str] = Field(default_factory=list)


class Ack(Wire):
    """A command was carried out. `duplicate` when it had been before, with the same result."""

    type: Literal["ack"] = "ack"
    ref: str
    result: dict[str, Any] = Field(default_factory=dict)
    duplicate: bool = False


class ErrorMessage(Wire):
    """A command (`ref`) or a frame (no `ref`) was refused; the connection lives on."""

    type: Literal["error"] = "error"
    ref: str | None = None
    error: ErrorBody


class Heartbeat(Wire):
    """Still here. `heads` shows a client that it missed something."""

    type: Literal["heartbeat"] = "heartbeat"
    ts: str
    heads: dict[str, int]


class ServiceCondition(Wire):
    """Something is wrong with the machine or the database, or is over.

    Sent to administrators who have sent `subscribe_conditions`.
    """

    type: Literal["service_condition"] = "service_condition"
    ts: str
    code: str = Field(description="As in `conditions` of `GET /health`; see docs/operations.md.")
    state: Literal["started", "ended"]
    refuses: Literal["nothing", "changes", "everything"] = Field(
        description="What is refused during the condition."
    )
    message: str


class GoingAway(Wire):
    """The server is about to close this connection."""

    type: Literal["going_away"] = "going_away"
    reason: str
    reconnect_after_ms: int
