"""Durable events: the stored history of a session."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.events.approval_terms import ShownTerms
from app.events.envelope import DurableEvent, ErrorBody, Part, Usage

CallStatus = Literal[
    "success",
    "error",
    "invalid_arguments",
    "disabled",
    "denied",
    "declined",
    "expired",
    "cancelled",
    "timeout",
    "skipped",
    "interrupted",
]
RunStatus = Literal["success", "error", "cancelled", "max_turns", "refused", "interrupted"]
Trigger = Literal["message", "direct", "rest", "schedule", "webhook", "delegation"]
ConfirmationOutcome = Literal["approved", "declined", "expired", "cancelled"]
Route = Literal["main", "worker-local", "main-process-proxy", "disabled"]


class RunStarted(DurableEvent):
    """Work on one user message, or on one batch of direct calls, has started."""

    type: Literal["run_started"] = "run_started"
    trigger: Trigger
    parent_run_id: str | None = None
    model: str | None = None
    tool_names: list[str] = Field(default_factory=list)


class RunResumed(DurableEvent):
    """A run of another process continues from its last completed step.

    Discard the deltas of an incomplete message: the model is called again.
    """

    type: Literal["run_resumed"] = "run_resumed"
    interrupted: list[str] = Field(
        default_factory=list,
        description="Calls that had started and not ended; they are not run again.",
    )


class RunFinished(DurableEvent):
    """End of a run; always the last event with its `run_id`."""

    type: Literal["run_finished"] = "run_finished"
    status: RunStatus
    stop_reason: str | None = None
    error: ErrorBody | None = None
    usage: Usage = Field(default_factory=Usage)


class MessageCompleted(DurableEvent):
    """A complete message; it replaces the deltas before it."""

    type: Literal["message_completed"] = "message_completed"
    message_id: str
    role: Literal["user", "assistant", "tool"]
    content: list[dict[str, Any]]
    client_message_id: str | None = Field(
        default=None, description="ID of the `user_message` that it answers."
    )
    model: str | None = Field(
        default=None, description="Model that wrote it, as named in the settings."
    )


class ContextCompacted(DurableEvent):
    """From this event on, a summary replaces the older part of the conversation.

    This only shortens what the model receives: every message stays in the session.
    """

    type: Literal["context_compacted"] = "context_compacted"
    message_id: str = Field(description="Entry with the summary.")
    keeps_from: str = Field(description="First message that is still sent verbatim.")
    method: Literal["model", "digest"] = Field(
        description="Author of the summary: the model, or the service from first lines."
    )
    summary: str
    replaced: int = Field(description="Number of messages that it summarizes.")
    tokens_before: int = Field(description="Estimated tokens of the whole request.")
    tokens_after: int


class SessionBranched(DurableEvent):
    """The conversation continues from an earlier message; later messages stay in the session.

    The parent of a message is the one before it in the log, except after this event.
    """

    type: Literal["session_branched"] = "session_branched"
    message_id: str | None = Field(
        default=None, description="Parent of the next message; null for a new branch."
    )


class ToolCallStarted(DurableEvent):
    """Processing of a call has started. Exactly one per call, its first event."""

    type: Literal["tool_call_started"] = "tool_call_started"
    tool_name: str
    title: str
    kind: str
    args: Any = Field(description="Arguments with secrets redacted.")
    redacted: list[str] = Field(default_factory=list, description="Paths of redacted values.")
    route: Route = "main"
    awaits_confirmation: bool = False
    index: int = Field(default=0, description="Position in the batch.")
    message_id: str | None = None
    deadline: str | None = None


class ToolCallCompleted(DurableEvent):
    """Result of a call. Exactly one per call, its last event."""

    type: Literal["tool_call_completed"] = "tool_call_completed"
    tool_name: str
    status: CallStatus
    content: list[dict[str, Any]] = Field(description="Output for the model, at most 64 KiB.")
    raw_result: dict[str, Any] | None = Field(
        default=None, description="Structured output for a renderer."
    )
    truncated: bool = False
    artifact_id: str | None = Field(
        default=None, description="ID of the artifact with the full output."
    )
    bytes: int = Field(default=0, description="Size of the full output in bytes.")
    chunks: int = Field(default=0, description="Number of live output pieces that were sent.")
    error: ErrorBody | None = None
    duration_ms: float = 0
    cached: bool = False
    duplicate_of: str | None = Field(default=None, description="Identical call of the same batch.")


class CommandSubject(Part):
    """Shell command that requires confirmation."""

    type: Literal["command"] = "command"
    command: str
    cwd: str


class ToolCallSubject(Part):
    """Other call that requires confirmation."""

    type: Literal["tool_call"] = "tool_call"
    args: Any


class RiskRule(Part):
    """Reason why the call requires confirmation."""

    rule_id: str
    reason: str
    match: str | None = None


class Risk(Part):
    level: Literal["low", "medium", "high", "critical"]
    rules: list[RiskRule] = Field(default_factory=list)


class ConfirmationOption(Part):
    """Answer that the server offers; clients must not offer others, or preselect one."""

    option_id: str
    label: str
    kind: Literal["allow", "deny"]
    requires_scope: str | None = Field(
        default=None, description="Additional scope required to answer."
    )
    expires_in_s: float | None = Field(
        default=None, description="Lifetime of a standing approval in seconds."
    )
    covers: str | None = Field(default=None, description="What a standing approval would cover.")
    covers_kind: Literal["segments", "command", "arguments"] | None = Field(
        default=None,
        description="Kind of the coverage: commands of a script, a whole script, or a call.",
    )


class SegmentReason(Part):
    """Reason why one command of a script requires confirmation."""

    code: str
    why: str


class ShownSegment(Part):
    """Command that a shell would run, including nested ones."""

    text: str
    cwd: str | None = None
    reasons: list[SegmentReason] = Field(default_factory=list)


class ShownLink(Part):
    """Target that is a symbolic link, and the path that it resolves to."""

    path: str
    real: str


class ShownTarget(Part):
    """Target of a call: a path, or a shell pattern.

    `files` is set if counting was cheap.
    """

    path: str
    real: str | None = Field(
        default=None,
        description="Where it really is, where links lead there; also outside of the workspace.",
    )
    type: Literal["file", "directory", "missing", "unknown"] = "unknown"
    files: int | None = None
    more: bool = Field(default=False, description="Whether there are more than `files`.")
    names: list[str] = Field(
        default_factory=list,
        description="First files in the folder, or matching the pattern; at most 50 in total.",
    )
    links: list[ShownLink] | None = Field(
        default=None, description="Those of the names that are links."
    )


class TargetList(Part):
    """Everything that a call would affect, with folders and patterns expanded.

    An approval applies to this list: if it differs right before the call runs, the confirmation is
    requested again.
    """

    count: int = Field(description="Number of files and folders.")
    more: bool = Field(default=False, description="Whether the list is incomplete.")
    digest: str


class RequestedBy(Part):
    """User on whose behalf the call is made, and its caller."""

    caller: str
    user_id: str | None = None
    agent_id: str | None = None
    agent: str | None = Field(default=None, description="Title of the agent.")
    subagent: str | None = Field(default=None, description="Label of the sub-agent.")
    task_id: str | None = Field(
        default=None, description="Its task ID, as used by `delegate_status`."
    )


class ToolConfirmationRequest(DurableEvent):
    """A call waits for a person's decision; the request is stored before this event.

    Texts for people show invisible and direction-changing characters as escapes.
    """

    type: Literal["tool_confirmation_request"] = "tool_confirmation_request"
    confirmation_id: str
    tool_name: str
    title: str
    description: str | None = None
    subject: CommandSubject | ToolCallSubject = Field(discriminator="type")
    risk: Risk
    digest: str = Field(description="Must be sent back; binds the answer to exactly this call.")
    options: list[ConfirmationOption]
    editable: bool = Field(
        default=False,
        description="Whether `approve_once` can carry `edited_args` that replace the call's "
        "arguments.",
    )
    response_schema: dict[str, Any] | None = Field(
        default=None, description="JSON Schema of `edited_args`."
    )
    expires_at: str | None = None
    segments: list[ShownSegment] = Field(default_factory=list)
    targets: list[ShownTarget] = Field(default_factory=list)
    target_list: TargetList | None = Field(
        default=None, description="Null if nothing could be listed, so nothing is compared."
    )
    asked_again: str | None = Field(
        default=None, description="Changes since a standing approval that no longer applies."
    )
    cwd: str | None = Field(default=None, description="Working directory of the call.")
    requested_by: RequestedBy | None = None
    approval: ShownTerms | None = Field(
        default=None, description="What an approval policy requires; null without a policy."
    )


class ToolConfirmationVote(DurableEvent):
    """A person has approved, and the approval policy requires further people."""

    type: Literal["tool_confirmation_vote"] = "tool_confirmation_vote"
    confirmation_id: str
    by: str
    on_behalf_of: str | None = None
    approved_by: list[str] = Field(description="Everyone who has approved so far, in order.")
    quorum: int = Field(description="Number of people who must approve.")


class ToolConfirmationResolved(DurableEvent):
    """A confirmation ended.

    `expired` means that no answer arrived in time, `cancelled` that the run ended.
    """

    type: Literal["tool_confirmation_resolved"] = "tool_confirmation_resolved"
    confirmation_id: str
    outcome: ConfirmationOutcome
    option_id: str | None = None
    by: str | None = None
    message: str | None = None
    edited_args: Any = Field(
        default=None, description="Replacement arguments from a person, with secrets redacted."
    )
    grant_id: str | None = Field(
        default=None, description="Standing approval that was created, or that approved the call."
    )
    on_behalf_of: str | None = Field(
        default=None, description="User for whom `by` answered as a substitute."
    )
    approved_by: list[str] | None = Field(
        default=None, description="Everyone who approved, where several had to."
    )


class QuestionChoice(Part):
    """Offered answer."""

    id: str
    label: str
    description: str = ""


class QuestionItem(Part):
    """Question; several can be asked together."""

    id: str
    question: str
    choices: list[QuestionChoice] = Field(default_factory=list)
    multi_select: bool = False
    header: str = ""


class QuestionAsked(DurableEvent):
    """A tool asks the user; the question is stored before this event.

    Users can always answer in their own words.
    """

    type: Literal["question_asked"] = "question_asked"
    question_id: str
    tool_name: str | None = None
    question: str = Field(description="First of `questions`, for clients that show only one.")
    choices: list[str] = Field(default_factory=list)
    multi_select: bool = False
    questions: list[QuestionItem] = Field(
        default_factory=list, description="All questions; the answer must cover each."
    )
    expires_at: str | None = None


class QuestionAnswered(DurableEvent):
    """A question ended, with or without an answer."""

    type: Literal["question_answered"] = "question_answered"
    question_id: str
    outcome: Literal["answered", "declined", "expired", "cancelled"]
    answer: Any = Field(default=None, description="Answers by question, with secrets redacted.")
    by: str | None = None


class TicketOpened(DurableEvent):
    """An agent has escalated to an operator."""

    type: Literal["ticket_opened"] = "ticket_opened"
    ticket_id: str
    reason: str
    severity: Literal["low", "medium", "high"]
    to: str
    blocking: bool = Field(default=False, description="Whether the call waits for the answer.")
    expires_at: str | None = Field(default=None, description="Time until which it waits.")


class TicketResolved(DurableEvent):
    """An operator has answered or closed a ticket."""

    type: Literal["ticket_resolved"] = "ticket_resolved"
    ticket_id: str
    status: Literal["answered", "closed"]
    answer: str | None = None
    by: str | None = None


class ProgressFigure(Part):
    """Progress figure; `percent` if the total is known."""

    current: float
    total: float | None = None
    unit: str | None = None
    percent: float | None = None


class ProcessEvent(DurableEvent):
    """Sampled progress of a running tool; the operation's log file has all reports."""

    type: Literal["process_event"] = "process_event"
    op_seq: int = Field(ge=1)
    stage: str
    status: Literal["started", "progress", "completed", "failed", "log"]
    message: str | None = None
    progress: ProgressFigure | None = None
    sampled: bool = True
    log_ref: str | None = None


class ProcessEnded(DurableEvent):
    """A background process has ended; the call that started it ended earlier."""

    type: Literal["process_ended"] = "process_ended"
    process_id: str
    started_by: str = Field(description="`operation_id` of the call that started it.")
    command: str
    exit_code: int
    reason: str = Field(description="`exited` if it ended by itself, otherwise the cause.")
    seconds: float


class SubagentStarted(DurableEvent):
    """A sub-agent has started. Its calls have `child_run_id` as their `run_id`.

    `run_id` and `parent_tool_call_id` belong to the call that delegated to it.
    """

    type: Literal["subagent_started"] = "subagent_started"
    child_run_id: str
    name: str
    task: str
    task_id: str | None = None
    batch_id: str | None = None
    model: str | None = None
    worker_pid: int | None = None
    tool_runtime_routes: dict[str, Route] = Field(default_factory=dict)
    blocked: dict[str, str] = Field(
        default_factory=dict, description="Codes of the reasons why tools are `disabled`, by name."
    )


class SubagentFinished(DurableEvent):
    """A sub-agent has ended: the last event of its task."""

    type: Literal["subagent_finished"] = "subagent_finished"
    child_run_id: str
    status: RunStatus
    summary: str | None = Field(
        default=None, description="Its answer, possibly incomplete; truncated if it is long."
    )
    name: str | None = None
    task_id: str | None = None
    batch_id: str | None = None
    error: ErrorBody | None = None
    rounds: int = 0
    usage: Usage = Field(default_factory=Usage)
