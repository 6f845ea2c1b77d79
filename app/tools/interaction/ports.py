"""Who brings questions and tickets to people, as Protocols; the composition root binds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

QUESTIONS = "questions"
TICKETS = "tickets"
ESCALATIONS = "superiors"

Response = str | list[str]
"Answer to one question: a text, or a list for several choices."
Severity = Literal["low", "medium", "high"]
Addressee = Literal["human", "supervisor_agent", "model_tier"]
TicketStatus = Literal["open", "answered", "closed"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the offered answers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. An answer in the user's own words is always possible.

    Attributes:
        id: names it among those that are put together.
        header: a short title, for clients that show one.
    """

    id: str
    text: str
    choices: tuple[Choice, ...] = ()
    multi_select: bool = False
    header: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """What came of questions that were put together; `responses` by question when answered."""

    outcome: Literal["answered", "declined", "expired"]
    responses: Mapping[str, Response]


@runtime_checkable
class Questions(Protocol):
    """The service `QUESTIONS`."""

    async def ask(
        self, questions: Sequence[Question], *, operation_id: str, timeout_s: float | None
    ) -> QuestionAnswers:
        """Put questions to the user of a running call and wait, once per call.

        A call that is made again after a restart finds the question that it put before.

        Args:
            timeout_s: after how many seconds the call is stopped; the question ends before.

        Raises:
            ToolFailed: code `unattended`, nobody is there to answer.
            RateLimited: too many questions are open in the session.
            StorageUnavailable: the question cannot be stored, so it is not put.
        """


@dataclass(frozen=True, slots=True)
class Escalation:
    """What is brought to an operator."""

    reason: str
    severity: Severity
    context: str
    to: Addressee
    blocking: bool


@dataclass(frozen=True, slots=True)
class TicketState:
    """A ticket as the call that opened it sees it.

    Attributes:
        is_duplicate: the run had opened a ticket for this reason already; this is that one.
        timed_out: the call waited for an answer, and none came in time.
    """

    ticket_id: str
    status: TicketStatus
    answer: str | None = None
    is_duplicate: bool = False
    timed_out: bool = False


@runtime_checkable
class Tickets(Protocol):
    """The service `TICKETS`."""

    async def escalate(
        self, wanted: Escalation, *, operation_id: str, timeout_s: float | None
    ) -> TicketState:
        """Open a ticket for a running call; with `blocking`, wait for its answer.

        Raises:
            ToolFailed: code `unattended`, no operator can answer this process.
            RateLimited: too many tickets were opened lately.
            StorageUnavailable: the ticket cannot be stored.
        """


@dataclass(frozen=True, slots=True)
class SupervisorDecision:
    """What a supervising agent has said; what it has not said yet, with its ticket.

    Attributes:
        supervisor: the agent's id.
        answer: None while it is at work on the ticket.
        task_id: its work, as `delegate_status` knows it.
        ticket: where its answer goes, when the caller does not wait for it.
    """

    supervisor: str
    task_id: str
    answer: str | None = None
    ticket: TicketState | None = None


@dataclass(frozen=True, slots=True)
class Handover:
    """A run that another model goes on with.

    Attributes:
        model: its name.
        requests: how many requests of the run it answers.
        is_repeat: it had been given the run already, and has so many left.
    """

    model: str
    requests: int
    is_repeat: bool = False


@runtime_checkable
class Escalations(Protocol):
    """The service `SUPERIORS`: agents and models that know better.

    Both raise `ToolFailed` with the code `addressee_unavailable` where an operator has set none
    up, which says what to set; and `RateLimited` when the run has turned to them often enough.
    """

    async def decide(
        self, wanted: Escalation, ctx: ToolContext, *, as_ticket: bool
    ) -> SupervisorDecision:
        """Let the agent's supervisor decide, as a sub-agent of the caller.

        Args:
            as_ticket: do not wait: a ticket is opened, and its answer answers the ticket.

        Raises:
            ToolFailed: the supervisor has not come to an answer; `delegation_depth` when the
                caller may start no sub-agent.
        """

    async def hand_over(self, wanted: Escalation, ctx: ToolContext) -> Handover:
        """Let the stronger model answer the next requests of the caller's run."""
