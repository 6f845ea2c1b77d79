"""Who brings questions and tickets to people, as Protocols; the composition root binds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

QUESTIONS = "questions"
TICKETS = "tickets"

Response = str | list[str]
"""What somebody said to one question: a text, or with several choices a list."""
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
class Answers:
    """What came of questions that were put together; `responses` by question when answered."""

    outcome: Literal["answered", "declined", "expired"]
    responses: Mapping[str, Response]


@runtime_checkable
class Questions(Protocol):
    """The service `QUESTIONS`."""

    async def ask(
        self, questions: Sequence[Question], *, operation_id: str, timeout_s: float | None
    ) -> Answers:
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
            ToolFailed: code `addressee_unavailable`, nobody of that kind can be reached here;
                code `unattended`, no operator can answer this process.
            RateLimited: too many tickets were opened lately.
            StorageUnavailable: the ticket cannot be stored.
        """
