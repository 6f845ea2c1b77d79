"""Commands of a desktop operator on its WebSocket, as one discriminated union."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from app.api.ws.commands import Command
from app.api.ws.frames import Refused, id_of
from app.channels import operator_messages as messages
from app.core.errors import BadFrame, InvalidInput, TooLarge
from app.core.field_problems import field_problem
from app.toolkit.schema import path_label

MAX_FRAME_CHARS = 16_384


class OperatorHello(Command, messages.Announcement):
    """The first frame: name and capabilities of the operator."""

    type: Literal["hello"]


class ClaimTask(Command):
    """Claim the named task, or the oldest one. `ack.result.task` is null if there is none."""

    type: Literal["claim"]
    task_id: messages.TaskId | None = None


class StartTask(Command, messages.Claim):
    """Request permission to send: the operator may send only after the `ack`."""

    type: Literal["start"]


class Beat(Command):
    """Keep the connection alive; with a claim, also renew its lease."""

    type: Literal["heartbeat"]
    claim: messages.Claim | None = None


class ReportProgress(Command, messages.Claim, messages.OperatorProgress):
    """Progress report."""

    type: Literal["progress"]


class CompleteTask(Command, messages.Claim, messages.Done):
    """Report that the text was sent."""

    type: Literal["complete"]


class FailTask(Command, messages.Claim, messages.Failed):
    """Report that the text was not sent."""

    type: Literal["fail"]


class ReleaseTask(Command, messages.Claim):
    """Release a task that was not started."""

    type: Literal["release"]


OperatorCommand: TypeAlias = (
    OperatorHello
    | ClaimTask
    | StartTask
    | Beat
    | ReportProgress
    | CompleteTask
    | FailTask
    | ReleaseTask
)
_command: TypeAdapter[OperatorCommand] = TypeAdapter(
    Annotated[OperatorCommand, Field(discriminator="type")]
)


def parse_operator_command(text: str | None) -> OperatorCommand:
    """Read a frame.

    Raises:
        Refused: the frame is binary, too large, or not a command of an operator.
    """
    if text is None:
        raise Refused(BadFrame("Binary frames are not supported; send JSON text"))
    if len(text) > MAX_FRAME_CHARS:
        raise Refused(TooLarge(f"A frame must not exceed {MAX_FRAME_CHARS} characters"))
    try:
        return _command.validate_json(text, strict=True)
    except ValidationError as error:
        problems = [
            field_problem(path_label(item["loc"][1:]), item)
            for item in error.errors(include_url=False, include_input=False)
        ]
        message = "; ".join(f"{item['path']}: {item['message']}" for item in problems[:5])
        raise Refused(
            InvalidInput(f"Invalid: {message}", errors=problems[:20]), id_of(text)
        ) from None
