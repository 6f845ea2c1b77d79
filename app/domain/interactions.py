"""Questions, tickets and escalations, and their services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

QUESTIONS = "questions"
TICKETS = "tickets"
ESCALATIONS = "superiors"

Response = str | list[str]
"""Answer to one question: a text, or a list for several choices."""
Severity = Literal["low", "medium", "high"]
Addressee = Literal["human", "supervisor_agent", "model_tier"]
TicketStatus = Literal["open", "answered", "closed"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One offered answer."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Free text is always accepted as an answer.

    Attributes:
        id: ID, unique among questions asked together.
        header: short title, for clients that show one.
    """

    id: str
    text: str
    choices: tuple[Choice, ...] = ()
    multi_select: bool = False
    header: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """Answers to questions that were asked together; `responses` by question if answered."""

    outcome: Literal["answered", "declined", "expired"]
    responses: Mapping[str, Response]


@runtime_checkable
class Questions(Protocol):
    """Service `QUESTIONS`."""

    async def ask(
        self, questions: Sequence[Question], *, operation_id: str, timeout_s: float | None
    ) -> QuestionAnswers:
        """Ask the user of a running call and wait, once per call.

        A call that restarts with the service finds its earlier question.

        Args:
            timeout_s: timeout of the call in seconds; the question expires earlier.

        Raises:
            ToolFailed: code `unattended`: no client can answer.
            RateLimited: too many questions are open in the session.
            StorageUnavailable: the question cannot be stored, so it is not asked.
        """


@dataclass(frozen=True, slots=True)
class Escalation:
    """Request to an operator."""

    reason: str
    severity: Severity
    context: str
    to: Addressee
    blocking: bool


@dataclass(frozen=True, slots=True)
class TicketState:
    """Ticket as seen by the call that opened it.

    Attributes:
        is_duplicate: the run has already opened this ticket for the reason.
        timed_out: the call waited for an answer, and none arrived in time.
    """

    ticket_id: str
    status: TicketStatus
    answer: str | None = None
    is_duplicate: bool = False
    timed_out: bool = False


@runtime_checkable
class Tickets(Protocol):
    """Service `TICKETS`."""

    async def escalate(
        self, wanted: Escalation, *, operation_id: str, timeout_s: float | None
    ) -> TicketState:
        """Open a ticket for a running call; with `blocking`, wait for its answer.

        Raises:
            ToolFailed: code `unattended`: no operator can answer this process.
            RateLimited: too many tickets were recently opened.
            StorageUnavailable: the ticket cannot be stored.
        """


@dataclass(frozen=True, slots=True)
class SupervisorDecision:
    """Decision of a supervising agent; if it is pending, with its ticket.

    Attributes:
        supervisor: ID of the agent.
        answer: None while it works on the ticket.
        task_id: ID of its task for `delegate_status`.
        ticket: ticket that receives its answer, if the caller does not wait.
    """

    supervisor: str
    task_id: str
    answer: str | None = None
    ticket: TicketState | None = None


@dataclass(frozen=True, slots=True)
class Handover:
    """Handover of a run to another model.

    Attributes:
        model: name of the model.
        requests: number of requests it answers.
        is_repeat: the run was already handed over; `requests` are left.
    """

    model: str
    requests: int
    is_repeat: bool = False


@runtime_checkable
class Escalations(Protocol):
    """Service `ESCALATIONS`: supervising agents and stronger models.

    Both raise `ToolFailed` with the code `addressee_unavailable` if none is configured, naming the
    setting, and `RateLimited` above the limit per run.
    """

    async def decide(
        self, wanted: Escalation, ctx: ToolContext, *, as_ticket: bool
    ) -> SupervisorDecision:
        """Let the agent's supervisor decide, as a sub-agent of the caller.

        Args:
            as_ticket: do not wait: open a ticket, which receives the answer.

        Raises:
            ToolFailed: the supervisor gave no answer; `delegation_depth` if the caller may not
                start sub-agents.
        """

    async def hand_over(self, wanted: Escalation, ctx: ToolContext) -> Handover:
        """Use the stronger model for the next requests of the caller's run."""
