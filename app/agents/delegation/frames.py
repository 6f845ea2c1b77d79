"""Protocol between a worker process and the service: one JSON object per line.

The service owns the conversation, the budget, the routes and every decision. A worker decides only
the next step of its loop, and runs the tools that the service requests, so a forged frame has no
effect beyond that.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.core.errors import TollgateError

MAX_FRAME = 8 << 20
"""Maximum bytes of one frame, including the line end; a longer frame ends the worker."""

Block = dict[str, Any]


class WorkerProtocolError(TollgateError):
    """The received data is not a valid frame."""

    code = "worker_protocol"


class WorkerFrame(BaseModel):
    """Base of both directions: immutable, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# Service → worker


class Begin(WorkerFrame):
    """Task of this worker, which ends afterwards.

    Attributes:
        root: workspace of the worker's own tools; None without a project.
        first_round: greater than 1 for a task started by another process.
        last_round_without_tools: the last model request offers no tools, so that the model must
            answer.
    """

    type: Literal["begin"] = "begin"
    task_id: str
    max_rounds: int = Field(ge=1)
    first_round: int = Field(default=1, ge=1)
    last_round_without_tools: bool = False
    root: str | None = None


class ModelAnswer(WorkerFrame):
    """Answer of the model in `round`: its texts, and its calls by ID and name.

    `heard` means that the sub-agent has received a message meanwhile, so a response without calls
    is not its last.
    """

    type: Literal["model_answer"] = "model_answer"
    round: int
    content: list[Block]
    stop_reason: str
    heard: bool = False


class CallsDone(WorkerFrame):
    """Every call of the round has its result; the result texts stay with the service."""

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
    """Cancel one execution, which is then not answered by `Executed`."""

    type: Literal["stop"] = "stop"
    execution_id: str


# Worker → service


class WorkerReady(WorkerFrame):
    """First frame: the worker is sandboxed, and has loaded these tools."""

    type: Literal["ready"] = "ready"
    pid: int
    tools: list[str] = Field(max_length=500)


class AskModel(WorkerFrame):
    """Ask the model for the next round (1, 2, …)."""

    type: Literal["ask_model"] = "ask_model"
    round: int = Field(ge=1)
    with_tools: bool = True


class CallTools(WorkerFrame):
    """Run the calls of the round's response, given by ID: all of them."""

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
    """Progress report of an execution."""

    type: Literal["reported"] = "reported"
    execution_id: str
    stage: str = Field(max_length=500)
    message: str | None = None
    current: float | None = None
    total: float | None = None
    unit: str | None = None


class Executed(WorkerFrame):
    """Result of an execution: the fields of a `ToolResult`.

    Attributes:
        invalid_arguments: the tool refused its arguments.
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
    """The loop has ended; the answer is the model's last text."""

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
    """Return the frame as one line.

    Raises:
        WorkerProtocolError: the line is longer than `MAX_FRAME`.
    """
    line = frame.model_dump_json(exclude_defaults=False).encode() + b"\n"
    if len(line) > MAX_FRAME:
        raise WorkerProtocolError(f"A frame of {len(line)} bytes exceeds the limit of {MAX_FRAME}")
    return line


def from_worker(line: bytes) -> FromWorker:
    """Parse a frame from a worker.

    Raises:
        WorkerProtocolError: it is not a frame that a worker may send.
    """
    try:
        return _FROM_WORKER.validate_json(line)
    except ValidationError as error:
        raise WorkerProtocolError(f"A worker sent an invalid frame: {_first(error)}") from None


def to_worker(line: bytes) -> ToWorker:
    """Parse a frame from the service.

    Raises:
        WorkerProtocolError: it is not a frame that the service may send.
    """
    try:
        return _TO_WORKER.validate_json(line)
    except ValidationError as error:
        raise WorkerProtocolError(f"The service sent an invalid frame: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    """Return the type of the first problem, without names and values chosen by the sender."""
    return error.errors(include_url=False, include_input=False, include_context=False)[0]["type"]
