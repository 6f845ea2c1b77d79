"""Messages to and from desktop operators, shared by WebSocket and REST."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$")]
TaskId = Annotated[str, Field(pattern=r"^dtk_[0-9a-f]{24}$")]
ClaimId = Annotated[str, Field(pattern=r"^clm_[0-9a-f]{24}$")]
FailureCode = Literal[
    "window_not_found",
    "window_ambiguous",
    "focus_lost",
    "text_differs",
    "text_not_sendable",
    "clipboard_failed",
    "driver_failed",
    "outcome_unknown",
]


class Message(BaseModel):
    """Base without unknown fields and conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Ability(Message):
    """Application of the desktop, and the operator's capabilities in it."""

    app_id: Name
    actions: Annotated[tuple[Name, ...], Field(min_length=1, max_length=20), Strict(strict=False)]


Abilities = Annotated[tuple[Ability, ...], Field(min_length=1, max_length=20), Strict(strict=False)]


class Announcement(Message):
    """Operator with its capabilities."""

    operator: Name
    apps: Abilities


class Claim(Message):
    """Task claimed by the operator: both IDs come from the server's response to a claim."""

    task_id: TaskId
    claim_id: ClaimId


class OperatorProgress(Message):
    """Progress of an operator."""

    stage: str = Field(min_length=1, max_length=80)
    message: str | None = Field(default=None, max_length=300)


class Done(Message):
    """The text was sent. `verified`: it was read back from the window before."""

    verified: bool = False
    detail: str = Field(default="", max_length=500)


class Failed(Message):
    """The text was not sent; or with `outcome_unknown`, possibly sent."""

    code: FailureCode
    detail: str = Field(default="", max_length=500)


class TaskForOperator(Message):
    """Task as sent to an operator.

    Attributes:
        lease_s: the task is withdrawn after this many seconds without a heartbeat.
    """

    task_id: TaskId
    claim_id: ClaimId
    app_id: Name
    action_type: Name
    target: str = Field(max_length=64)
    text: str = Field(max_length=6000)
    expires_at: str = Field(max_length=40)
    lease_s: float


class WaitingTask(Message):
    """Task that the operator may claim."""

    task_id: TaskId
    app_id: Name
    action_type: Name
    expires_at: str
