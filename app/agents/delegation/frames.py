"""What a worker process and the service say to each other: one JSON object a line.

The service holds the truth: the conversation, the budget, the routes, every decision. A worker
decides only how its loop goes on, and executes the tools that it is told to execute; so a frame
that was forged names nothing that the service does not know better.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.core.errors import TollgateError

MAX_FRAME = 8 << 20
"""Bytes of one frame, the end of its line counted in; a longer one ends the worker."""

Block = dict[str, Any]


class WorkerProtocolError(TollgateError):
    """What came is no frame of this protocol."""

    code = "worker_protocol"


class WorkerFrame(BaseModel):
    """Base of both directions: immutable, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# The service → a worker


class Begin(WorkerFrame):
    """The one task of this worker; it is ended after it.

    Attributes:
        root: the workspace, as the worker's own tools see it; None without a project.
        first_round: after 1, of a task that another process had begun.
        last_round_without_tools: the last model request offers none, so that it must answer.
    """

    type: Literal["begin"] = "begin"
    task_id: str
    max_rounds: int = Field(ge=1)
    first_round: int = Field(default=1, ge=1)
    last_round_without_tools: bool = False
    root: str | None = None


class ModelAnswer(WorkerFrame):
    """What the model said in `round`: its texts, and its calls by id and name.

    `heard` says that somebody has told the sub-agent something meanwhile, so that an answer
    without calls is not its last one.
    """

    type: Literal["model_answer"] = "model_answer"
    round: int
    content: list[Block]
    stop_reason: str
    heard: bool = False


class CallsDone(WorkerFrame):
    """Every call of the round has its result; the texts of the results stay with the service."""

    type: Literal["calls_done"] = "calls_done"
    round: int
    results: list[Block]


class Execute(WorkerFrame):
    """Run the function of a tool with validated arguments; answered by one `Executed`."""

    type: Literal["execute"] = "execute"
    execution_id: str
    tool: str
    arguments: dict[str, Any]
    tool_call_id: str
    operation_id: str
    project_id: str | None = None
    timeout_s: float | None = None


class StopExecution(WorkerFrame):
    """Cancel one execution; it is answered by no `Executed`."""

    type: Literal["stop"] = "stop"
    execution_id: str


# A worker → the service


class WorkerReady(WorkerFrame):
    """The first frame: it is confined, and has loaded these tools."""

    type: Literal["ready"] = "ready"
    pid: int
    tools: list[str] = Field(max_length=500)


class AskModel(WorkerFrame):
    """Ask the model for the next round (1, 2, …)."""

    type: Literal["ask_model"] = "ask_model"
    round: int = Field(ge=1)
    with_tools: bool = True


class CallTools(WorkerFrame):
    """Make these calls of the round's answer, by their ids: all of them."""

    type: Literal["call_tools"] = "call_tools"
    round: int = Field(ge=1)
    ids: list[str] = Field(max_length=1000)


class OutputFrame(WorkerFrame):
    """A piece of live output of an execution."""

    type: Literal["output"] = "output"
    execution_id: str
    text: str
    stream: Literal["stdout", "stderr", "content"] = "content"


class Reported(WorkerFrame):
    """A report of an execution's progress."""

    type: Literal["reported"] = "reported"
    execution_id: str
    stage: str = Field(max_length=500)
    message: str | None = None
    current: float | None = None
    total: float | None = None
    unit: str | None = None


class Executed(WorkerFrame):
    """How an execution ended: the fields of a `ToolResult`.

    Attributes:
        invalid_arguments: the tool itself found its arguments wrong.
    """

    type: Literal["executed"] = "executed"
    execution_id: str
    success: bool
    data: Any = None
    error: str | None = None
    code: str | None = None
    text: str | None = None
    raw_result: dict[str, Any] | None = None
    invalid_arguments: bool = False


class TaskFinished(WorkerFrame):
    """The loop is over; the answer is the last text of the model."""

    type: Literal["finished"] = "finished"
    reason: Literal["answered", "max_rounds"]


ToWorker = Annotated[
    Begin | ModelAnswer | CallsDone | Execute | StopExecution, Field(discriminator="type")
]
FromWorker = Annotated[
    WorkerReady | AskModel | CallTools | OutputFrame | Reported | Executed | TaskFinished,
    Field(discriminator="type"),
]
_TO_WORKER: TypeAdapter[Begin | ModelAnswer | CallsDone | Execute | StopExecution] = TypeAdapter(
    ToWorker
)
_FROM_WORKER: TypeAdapter[
    WorkerReady | AskModel | CallTools | OutputFrame | Reported | Executed | TaskFinished
] = TypeAdapter(FromWorker)


def encode(frame: WorkerFrame) -> bytes:
    """One line.

    Raises:
        WorkerProtocolError: it is longer than `MAX_FRAME`.
    """
    line = frame.model_dump_json(exclude_defaults=False).encode() + b"\n"
    if len(line) > MAX_FRAME:
        raise WorkerProtocolError(f"A frame of {len(line)} bytes exceeds the limit of {MAX_FRAME}")
    return line


def from_worker(line: bytes) -> FromWorker:
    """Read what a worker sent.

    Raises:
        WorkerProtocolError: it is none of the frames that a worker may send.
    """
    try:
        return _FROM_WORKER.validate_json(line)
    except ValidationError as error:
        raise WorkerProtocolError(f"A worker sent an invalid frame: {_first(error)}") from None


def to_worker(line: bytes) -> ToWorker:
    """Read what the service sent.

    Raises:
        WorkerProtocolError: it is none of the frames that the service may send.
    """
    try:
        return _TO_WORKER.validate_json(line)
    except ValidationError as error:
        raise WorkerProtocolError(f"The service sent an invalid frame: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    """What kind of problem comes first: names and words in it could be the sender's own."""
    return error.errors(include_url=False, include_input=False, include_context=False)[0]["type"]
