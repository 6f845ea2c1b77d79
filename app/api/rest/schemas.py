"""Response models of the REST API. Each has an example for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Query
from pydantic import BaseModel, Field

from app.agents.session_finder import MessageMatch
from app.agents.sessions import BUSINESS, fit_to_be_seen
from app.api.rest.examples import MOMENT, example
from app.core.redaction import Redactor
from app.core.text import scrub
from app.db.tables import ArtifactRow, EntryRow, RunRow, SessionRow, ToolCallRow
from app.execution.outcome import CallOutcome

_SESSION: dict[str, Any] = {
    "id": "ses_1",
    "kind": "chat",
    "title": "What is 6*7?",
    "user_id": "local",
    "project_id": "default",
    "epoch": "ep_1",
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_RECORD: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "calculator", "arguments": '{"expression":"6*7"}'},
    "result": '{"success":true,"data":{"result":42},"error":null}',
    "success": True,
    "skipped": False,
    "execution_time": 0.0012,
    "status": "success",
    "cached": False,
    "operation_id": "op_7f3a9c000001",
}
_BLOCK = {"type": "text", "text": "What is 6*7?"}

Form = Literal["all", "text", "record", "raw_result"]
CallForm = Annotated[
    Form,
    Query(
        description="The field that holds the result, which is then sent once: `record` is "
        "`record.result`; `raw_result` leaves `text` where there is nothing to draw."
    ),
]
BatchForm = Annotated[
    Literal["all", "messages", "records"],
    Query(description="The list that holds the results, which are then sent once."),
]
HistoryForm = Annotated[
    Literal["all", "text", "result"],
    Query(description="The field that holds the result of each call, which is then sent once."),
]


class SessionView(BaseModel):
    """A stored chat, or the record of direct calls."""

    model_config = example(**_SESSION)

    id: str
    kind: str
    title: str
    user_id: str
    project_id: str | None = None
    agent_id: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    epoch: str = Field(description="Changes when the event log is reset.")
    leaf_entry_id: str | None = Field(default=None, description="Last message of the branch.")
    business: dict[str, Any] | None = Field(
        default=None, description="Details of the channel it belongs to, for its tools only."
    )
    usage: dict[str, int | float] = Field(
        default_factory=dict,
        description="Token counts of all its runs; `cost` in US dollars of those whose models have "
        "a price, and `unpriced_tokens` of the others.",
    )
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, row: SessionRow) -> Self:
        own = {"business": orjson.loads(row.meta).get(BUSINESS), "usage": orjson.loads(row.usage)}
        fields = {name: getattr(row, name) for name in cls.model_fields.keys() - own.keys()}
        return cls(**fields, **own)


class SessionHit(BaseModel):
    """A message that contains every word of a search."""

    model_config = example(
        session_id="ses_1", message_id="msg_1", role="user", excerpt="What is 6*7?", on_branch=True
    )

    session_id: str
    message_id: str
    role: str
    excerpt: str = Field(description="Text around the first word, on one line.")
    on_branch: bool = Field(
        description="Whether it is on the active branch; `branch` leads to another."
    )

    @classmethod
    def of(cls, hit: MessageMatch) -> Self:
        return cls(**{name: getattr(hit, name) for name in cls.model_fields})


class SessionPage(BaseModel):
    """Sessions, last used first."""

    model_config = example(sessions=[_SESSION])

    sessions: list[SessionView]
    hits: list[SessionHit] = Field(
        default_factory=list,
        description="For a search: the newest matches of each session, at most three. A session "
        "matched by its title may have none.",
    )
    next_before: str | None = Field(default=None, description="Cursor: `before` of the next page.")


class MessageView(BaseModel):
    """One message of a session's tree."""

    model_config = example(id="msg_1", role="user", content=[_BLOCK], created_at=MOMENT)

    id: str
    parent_id: str | None = None
    run_id: str | None = None
    role: str
    content: list[dict[str, Any]]
    created_at: str

    @classmethod
    def of(cls, row: EntryRow, redactor: Redactor) -> Self:
        return cls(
            id=row.id,
            parent_id=row.parent_id,
            run_id=row.run_id,
            role=row.role,
            content=[fit_to_be_seen(block, redactor) for block in orjson.loads(row.content)],
            created_at=row.created_at,
        )


class MessageList(BaseModel):
    """Messages of the active branch from its root, or of the whole tree."""

    model_config = example(
        leaf_entry_id="msg_1",
        messages=[{"id": "msg_1", "role": "user", "content": [_BLOCK], "created_at": MOMENT}],
    )

    leaf_entry_id: str | None = None
    messages: list[MessageView]


class MessageAccepted(BaseModel):
    """Accepted message; its run has started, or waits for the previous one."""

    model_config = example(run_id="run_1", message_id="msg_1")

    run_id: str
    message_id: str


class RunView(BaseModel):
    """Processing of one user message to its final answer, or of one batch of direct calls."""

    model_config = example(
        id="run_1",
        session_id="ses_1",
        trigger="message",
        status="success",
        model="claude-sonnet-5-5",
        stop_reason="end_turn",
        usage={"input_tokens": 25, "output_tokens": 15},
        started_at=MOMENT,
        finished_at=MOMENT,
    )

    id: str
    session_id: str
    trigger: str
    status: str = Field(description="`running`, or its final status, as in `run_finished`.")
    agent_id: str | None = None
    model: str | None = None
    parent_run_id: str | None = None
    stop_reason: str | None = None
    error: dict[str, Any] | None = None
    usage: dict[str, int | float] = Field(
        default_factory=dict,
        description="Token counts; and `cost` in US dollars if all models have a price.",
    )
    started_at: str
    finished_at: str | None = None

    @classmethod
    def of(cls, row: RunRow) -> Self:
        fields = {name: getattr(row, name) for name in cls.model_fields}
        fields["error"] = None if row.error is None else orjson.loads(row.error)
        fields["usage"] = orjson.loads(row.usage or "{}")
        return cls(**fields)


class RunList(BaseModel):
    """Runs of a session, newest first."""

    model_config = example(
        runs=[
            {
                "id": "run_1",
                "session_id": "ses_1",
                "trigger": "rest",
                "status": "success",
                "started_at": MOMENT,
            }
        ]
    )

    runs: list[RunView]


class RunCancelled(BaseModel):
    """Cancellation request for a run; its events report the end. Repeating it is harmless."""

    model_config = example(run_id="run_1", already_finished=False)

    run_id: str
    already_finished: bool


class FunctionCall(BaseModel):
    """A call in OpenAI's format; `arguments` is JSON text."""

    model_config = example(name="calculator", arguments='{"expression":"6*7"}')

    name: str
    arguments: str


class CallRecord(BaseModel):
    """Unified record of a call, with the same format in responses, history and events."""

    model_config = example(**_RECORD)

    id: str
    type: str = "function"
    function: FunctionCall
    result: str | None = Field(
        description="JSON text `{success, data, error}`; null while unknown, and if the request "
        "selects another field."
    )
    success: bool
    skipped: bool
    execution_time: float = Field(description="Duration in seconds.")
    status: str
    cached: bool
    operation_id: str
    duplicate_of: str | None = None
    artifact_id: str | None = None

    @classmethod
    def of_outcome(cls, outcome: CallOutcome, *, whole: bool) -> Self:
        """Return the record of an ended call; without its result unless `whole`."""
        record = outcome.record()
        if not whole:
            record["result"] = None
        return cls(**scrub(record))


class StoredCall(CallRecord):
    """A record in the history, with the canonical tool name and redacted secrets."""

    model_config = example(**_RECORD, run_id="run_1", started_at=MOMENT, text='{"result":42}')

    run_id: str | None = None
    agent_id: str | None = None
    started_at: str
    text: str | None = Field(default=None, description="Output as read by the model.")
    decision: dict[str, Any] | None = Field(default=None, description="Verdict, reasons and risk.")

    @classmethod
    def of(cls, row: ToolCallRow, form: Literal["all", "text", "result"]) -> Self:
        own = {"id", "type", "function", "decision"}
        same = {name: getattr(row, name) for name in cls.model_fields.keys() - own}
        if form != "all":
            same["result" if form == "text" else "text"] = None
        return cls(
            id=row.tool_call_id,
            function=FunctionCall(name=row.tool_name, arguments=row.arguments),
            decision=None if row.decision is None else orjson.loads(row.decision),
            **same,
        )


class CallList(BaseModel):
    """Calls of a session, oldest first."""

    model_config = example(calls=[{**_RECORD, "run_id": "run_1", "started_at": MOMENT}])

    calls: list[StoredCall]
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class CallResult(BaseModel):
    """Result of one call. `status` distinguishes success, failure, denial and others; the HTTP
    status does not.
    """

    model_config = example(
        record=_RECORD,
        tool_name="calculator",
        status="success",
        text='{"result":42}',
        session_id="ses_1",
        run_id="run_1",
    )

    record: CallRecord
    tool_name: str = Field(description="Canonical name, whatever alias was called.")
    status: str
    code: str | None = Field(default=None, description="Error code, as in `tool_call_completed`.")
    text: str = Field(
        description="Output for a model: truncated, with warnings appended. Empty if the request "
        "selects another field."
    )
    raw_result: dict[str, Any] | None = Field(
        default=None, description="Structured output for a renderer: `{type, data}`."
    )
    truncated: bool = False
    artifact_id: str | None = Field(
        default=None, description="ID of the artifact with the full output."
    )
    session_id: str
    run_id: str

    @classmethod
    def of(cls, outcome: CallOutcome, session_id: str, run_id: str, form: Form) -> Self:
        raw = outcome.result.raw_result
        if form == "raw_result" and raw is None:
            form = "text"
        if form not in ("all", "raw_result"):
            raw = None
        return cls(
            record=CallRecord.of_outcome(outcome, whole=form in ("all", "record")),
            tool_name=outcome.tool_name,
            status=outcome.status,
            code=outcome.result.code,
            text=scrub(outcome.text) if form in ("all", "text") else "",
            raw_result=None if raw is None else scrub(raw.to_dict()),
            truncated=outcome.truncated,
            artifact_id=outcome.artifact_id,
            session_id=session_id,
            run_id=run_id,
        )


class BatchResult(BaseModel):
    """Results of a batch, in the order of its calls."""

    model_config = example(
        messages=[
            {
                "role": "tool",
                "tool_call_id": "call_1",
                "name": "calculator",
                "content": _RECORD["result"],
            }
        ],
        records=[_RECORD],
        session_id="ses_1",
        run_id="run_1",
    )

    messages: list[dict[str, str]] = Field(description="`role: tool` messages in OpenAI's format.")
    records: list[CallRecord]
    session_id: str
    run_id: str


class ArtifactView(BaseModel):
    """A file that a call produced; `GET /api/v1/artifacts/{id}` has its bytes."""

    model_config = example(
        id="art_1",
        session_id="ses_1",
        operation_id="op_7f3a9c000001",
        name="bash-op_7f3a9c000001.txt",
        media_type="text/plain",
        size=120_000,
        sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        created_at=MOMENT,
    )

    id: str
    session_id: str
    operation_id: str | None = None
    name: str
    media_type: str
    size: int = Field(description="Size in bytes.")
    sha256: str
    created_at: str

    @classmethod
    def of(cls, row: ArtifactRow) -> Self:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class ArtifactList(BaseModel):
    """Artifacts of a session, newest first."""

    model_config = example(
        artifacts=[
            {
                "id": "art_1",
                "session_id": "ses_1",
                "name": "bash.txt",
                "media_type": "text/plain",
                "size": 120_000,
                "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "created_at": MOMENT,
            }
        ]
    )

    artifacts: list[ArtifactView]


class ActiveRun(BaseModel):
    """The active run."""

    model_config = example(run_id="run_1", trigger="message", started_at=MOMENT)

    run_id: str
    trigger: str
    started_at: str


class Snapshot(BaseModel):
    """State of a session at a `seq`: show it, then subscribe with `epoch` and `after` = `seq`."""

    model_config = example(
        session=_SESSION,
        messages=[{"id": "msg_1", "role": "user", "content": [_BLOCK], "created_at": MOMENT}],
        epoch="ep_1",
        seq=12,
        pending_confirmations=[],
        pending_questions=[],
        running_calls=[],
        processes=[],
    )

    session: SessionView
    messages: list[MessageView]
    epoch: str
    seq: int = Field(description="The snapshot includes everything up to this event.")
    pending_confirmations: list[dict[str, Any]]
    pending_questions: list[dict[str, Any]]
    running_calls: list[str]
    processes: list[dict[str, Any]] = Field(
        description="Latest state of the last calls that reported progress, oldest first."
    )
    active_run: ActiveRun | None = None
