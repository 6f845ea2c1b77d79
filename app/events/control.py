"""Control messages: about the connection, not about a session's history."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.events.envelope import ErrorBody, Wire


class ConnectionReady(Wire):
    """Response to `hello`: the connection is ready."""

    type: Literal["ready"] = "ready"
    connection_id: str
    server: str
    user_id: str
    heartbeat_ms: int
    limits: dict[str, int]
    features: list[str]


class Subscribed(Wire):
    """Response to `subscribe`, immediately followed by the replayed events `replay_from`..`head`.

    If `recovered` is false, the position is no longer available: load the session's snapshot.
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


class InboxEntry(BaseModel):
    """A confirmation or question that waits for a person. Its session has the details."""

    kind: Literal["confirmation", "question"]
    id: str = Field(description="`confirmation_id` or `question_id`.")
    session_id: str
    run_id: str | None = None
    agent_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str
    title: str = Field(description="The call or the question in one line, without secrets.")
    risk: str | None = Field(default=None, description="Risk of the call; none for a question.")
    opened_at: str
    expires_at: str | None = None
    approved_by: list[str] = Field(
        default_factory=list, description="People who have approved, where several must."
    )
    quorum: int = Field(default=1, description="Number of people who must approve.")


class InboxReady(Wire):
    """Response to `subscribe_inbox`, followed by an `inbox_changed` for each later change.

    If `recovered` is true, the missed changes follow; otherwise `entries` is the whole list, and
    replaces what the client has.
    """

    type: Literal["inbox"] = "inbox"
    ref: str
    cursor: str = Field(description="Send it as `after` when you connect again.")
    recovered: bool
    entries: list[InboxEntry] = Field(default_factory=list, description="Oldest first.")


class InboxChanged(Wire):
    """A confirmation or question that you may decide came, changed or has ended.

    An entry that you have not seen before can come with `changed`: since then you may decide it.
    """

    type: Literal["inbox_changed"] = "inbox_changed"
    ts: str
    cursor: str = Field(description="Send it as `after` when you connect again.")
    state: Literal["opened", "changed", "closed"]
    reason: Literal["reminder", "escalated", "vote"] | None = Field(
        default=None,
        description="Why it changed: half or nine tenths of the time have passed, further people "
        "may answer, or one of several required people has approved.",
    )
    entry: InboxEntry
    outcome: str | None = Field(
        default=None,
        description="How it ended: approved, declined, answered, expired, cancelled; or "
        "`reassigned`, if you may not decide it any more.",
    )
    by: str | None = Field(default=None, description="User who answered.")


class Ack(Wire):
    """A command succeeded. `duplicate` marks a repeated command, whose first result is returned."""

    type: Literal["ack"] = "ack"
    ref: str
    result: dict[str, Any] = Field(default_factory=dict)
    duplicate: bool = False


class ErrorMessage(Wire):
    """A command (`ref`) or a frame (no `ref`) was refused; the connection stays open."""

    type: Literal["error"] = "error"
    ref: str | None = None
    error: ErrorBody


class Heartbeat(Wire):
    """Keep-alive. Compare `heads` with the last received `seq` to detect missed events."""

    type: Literal["heartbeat"] = "heartbeat"
    ts: str
    heads: dict[str, int]


class ServiceCondition(Wire):
    """A problem of the machine or the database has started or ended.

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
