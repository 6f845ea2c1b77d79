"""Questions of tools to the user: asked once, answered once, kept across restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from app.core.clock import Clock, stamp
from app.core.errors import (
    AlreadyFinished,
    Conflict,
    NotFound,
    QuestionAlreadyAnswered,
    QuestionClosed,
    RateLimited,
    StorageUnavailable,
    ToolFailed,
)
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.db.question_statements import TELL_QUESTION
from app.db.writer import DatabaseWriter
from app.domain.interactions import Question, QuestionAnswers
from app.events.durable import QuestionAnswered, QuestionAsked
from app.events.log import SessionLog
from app.execution.call import CallState
from app.execution.confirmation.step import ConfirmationStep
from app.execution.interactions.pending_inputs import (
    InputOwner,
    InputResult,
    PendingInput,
    PendingInputs,
)
from app.execution.interactions.replies import QuestionReply, responses_to
from app.execution.interactions.rows import QuestionRows, StoredQuestion, StoredReply
from app.governance.audit.log import AuditLog

MAX_OPEN = 20
_SPARE_S = 1.0
_ANSWERED = frozenset({"answered", "declined", "late"})
TakenOutcome = Literal["answered", "declined", "late"]


@dataclass(frozen=True, slots=True)
class TakenAnswer:
    """Result of an answer.

    Attributes:
        is_repeat: the same person has already sent the same answer.
        message: message for the session about a late answer; `stored` is its question.
        run_id: ID of the run that a late answer starts.
    """

    outcome: TakenOutcome
    is_repeat: bool = False
    message: str | None = None
    stored: StoredQuestion | None = None
    run_id: str | None = None


class UserQuestions:
    """Implements the service `QUESTIONS`, and takes answers."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        redactor: Redactor,
        waiting: PendingInputs,
        confirmation_step: ConfirmationStep,
        *,
        ttl_s: float,
    ) -> None:
        self._db = db
        self._clock = clock
        self._redactor = redactor
        self._waiting = waiting
        self._confirmation_step = confirmation_step
        self._rows = QuestionRows(db, clock, audit)
        self._ttl_s = ttl_s
        waiting.own("question", InputOwner(self._cancel, self._settle_expired))

    # -- for the asking call --------------------------------------------------------------

    async def ask(
        self, questions: Sequence[Question], *, operation_id: str, timeout_s: float | None
    ) -> QuestionAnswers:
        """See the Protocol."""
        call = self._waiting.call(operation_id)
        wait = self._waiting.of(operation_id)
        if wait is None:
            wait, expires = self._put(call, questions, timeout_s)
        else:
            stored = await self._rows.read(wait.subject_id)
            if stored is None or stored.status != "open":
                return self._found(wait, stored)
            expires = stored.expires_at
        return _answers(await self._waiting.wait(wait, expires))

    def _put(
        self, call: CallState, questions: Sequence[Question], timeout_s: float | None
    ) -> tuple[PendingInput, float | None]:
        context = call.context
        if self._confirmation_step.is_unattended(call):
            raise ToolFailed(
                "No one is available to answer, so the question was not asked; "
                "continue with the best option, and state your assumptions",
                code="unattended",
            )
        if len(self.pending(context.session_id)) >= MAX_OPEN:
            raise RateLimited(f"{MAX_OPEN} questions are open in this session; wait for answers")
        question_id = new_id("qst")
        expires = expires_at(self._clock.time(), self._ttl_s, timeout_s)
        request = self._request(call, questions, expires)
        self._confirmation_step.keep(call)
        self._rows.add(question_id, call, request, expires)
        context.log.emit(QuestionAsked, question_id=question_id, **request)
        return self._waiting.expect("question", question_id, call, request), expires

    def _found(self, wait: PendingInput, stored: StoredQuestion | None) -> QuestionAnswers:
        """Return the outcome of a previous process's question."""
        if wait.future.done():
            return _answers(wait.future.result())
        self._waiting.drop(wait)
        if stored is None or stored.status == "cancelled":
            raise ToolFailed("The question was withdrawn", code="question_closed")
        outcome = "expired" if stored.status == "late" else stored.status
        if not stored.reported:
            self._tell(wait.call.context.log, stored, outcome)
        return _answers(InputResult(outcome, stored.responses))

    def _request(
        self, call: CallState, questions: Sequence[Question], expires: float | None
    ) -> dict[str, Any]:
        """Return the fields of the event, without secrets; every choice has an ID."""
        shown: list[dict[str, Any]] = self._redactor.secrets_in(
            [_shown(item) for item in questions]
        )
        first = shown[0]
        return {
            **call.head(),
            "tool_name": call.tool_name,
            "question": first["question"],
            "choices": [choice["label"] for choice in first["choices"]],
            "multi_select": first["multi_select"],
            "questions": shown,
            "expires_at": stamp(expires) if expires else None,
        }

    # -- for clients ----------------------------------------------------------------------

    def pending(self, session_id: str) -> list[dict[str, Any]]:
        """Return the open questions of a session, as event fields."""
        return [
            {"question_id": wait.subject_id, **wait.request}
            for wait in self._waiting.in_session(session_id)
            if wait.kind == "question" and wait.request
        ]

    async def answer(
        self, question_id: str, reply: QuestionReply, *, by: str, session_id: str
    ) -> TakenAnswer:
        """Submit an answer: the first valid one wins.

        Raises:
            NotFound: the question does not exist in this session.
            InvalidInput: the answer does not fit the question.
            QuestionAlreadyAnswered: it already has another answer.
            QuestionClosed: it has ended, and the session has no agent to notify.
            Conflict: the call waits in another process, or has ended.
        """
        stored = await self._rows.read(question_id)
        if stored is None or stored.session_id != session_id:
            raise NotFound(
                f"Question {question_id!r} not found in this session", question_id=question_id
            )
        said = StoredReply(reply.outcome, responses_to(stored.questions, reply), by)
        wait = self._waiting.about(question_id)
        if wait is None:
            # The call may have ended since the row was read.
            stored = await self._rows.read(question_id) or stored
        if stored.status == "open":
            if wait is None:
                raise Conflict(
                    "The call waits in another process; answer it there", question_id=question_id
                )
            # A committed answer applies, even if its sender has disconnected.
            if await asyncio.shield(self._waiting.keep(self._take(wait, stored, said))):
                return TakenAnswer(reply.outcome)
            await self._settle_expired(wait)
            stored = await self._rows.read(question_id) or stored
        return await self._after_its_end(stored, said)

    async def reopen(self, taken: TakenAnswer) -> None:
        """Withdraw a late answer, because the session could not be notified."""
        if taken.stored is not None:
            await self._rows.reopen(taken.stored)

    # -- internal -------------------------------------------------------------------------

    async def _take(self, wait: PendingInput, stored: StoredQuestion, said: StoredReply) -> bool:
        """Store the answer by compare-and-set and wake the call; False if it is too late."""
        if not await self._rows.answer(stored, said):
            return False
        if self._waiting.about(stored.id) is not wait:
            raise AlreadyFinished("The call has ended, so the answer can no longer be used")
        answered = replace(stored, status=said.outcome, answer=said.stored(), answered_by=said.by)
        self._tell(wait.call.context.log, answered, said.outcome)
        self._waiting.resolve(wait, InputResult(said.outcome, said.responses), by=said.by)
        return True

    async def _after_its_end(self, stored: StoredQuestion, said: StoredReply) -> TakenAnswer:
        """Handle an answer after the call's end: a repeat, a late answer, or one too many."""
        same = (stored.status, stored.answer, stored.answered_by)
        if same == (said.outcome, said.stored(), said.by):
            return TakenAnswer(said.outcome, is_repeat=True)
        if same == ("late", said.stored(), said.by):
            return await self._late_again(stored, said)
        if stored.status in _ANSWERED:
            raise _was_first(stored)
        if stored.caller != "agent" or said.outcome != "answered":
            raise QuestionClosed(
                f"The question has {stored.status}",
                question_id=stored.id,
            )
        if not await self._rows.answer_late(stored, said):
            raise _was_first(await self._rows.read(stored.id) or stored)
        return _late(stored, said)

    async def _late_again(self, stored: StoredQuestion, said: StoredReply) -> TakenAnswer:
        """Handle a repeated late answer: deliver it now if a previous process did not."""
        if await self._rows.has_begun(_late_run(stored)):
            return TakenAnswer("late", is_repeat=True, run_id=_late_run(stored))
        return _late(stored, said)

    async def _settle_expired(self, wait: PendingInput) -> None:
        """Settle an expired question; an answer already in the database wins."""
        try:
            expired = await self._rows.expire(wait.subject_id)
        except StorageUnavailable:
            expired = True
        if expired and self._waiting.about(wait.subject_id) is wait:
            self._end(wait, "expired")
            self._waiting.resolve(wait, InputResult("expired"))

    def _cancel(self, wait: PendingInput) -> None:
        self._rows.cancel(wait.subject_id, wait.call)
        self._end(wait, "cancelled")

    def _end(self, wait: PendingInput, outcome: str) -> None:
        """Report that the question was not answered."""
        call = wait.call
        call.context.log.emit(
            QuestionAnswered, **call.head(), question_id=wait.subject_id, outcome=outcome
        )
        self._db.append(TELL_QUESTION, (wait.subject_id,))

    def _tell(self, log: SessionLog, stored: StoredQuestion, outcome: str) -> None:
        answered = outcome == "answered"
        log.emit(
            QuestionAnswered,
            **stored.head(),
            question_id=stored.id,
            outcome=outcome,
            answer=self._redactor.secrets_in(stored.responses) if answered else None,
            by=stored.answered_by if outcome in _ANSWERED else None,
        )
        self._db.append(TELL_QUESTION, (stored.id,))


def expires_at(now: float, ttl_s: float, timeout_s: float | None) -> float | None:
    """Return when the question expires, which is before the call itself is stopped.

    Args:
        now: Unix time.
        ttl_s: lifetime of the question in seconds; 0 for as long as the call may run.
    """
    left = [ttl_s] if ttl_s else []
    if timeout_s is not None:
        left.append(max(timeout_s - _SPARE_S, timeout_s / 2))
    return now + min(left) if left else None


def _shown(question: Question) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": question.id,
        "question": question.text,
        "choices": [
            {"id": f"choice_{number}", "label": choice.label, "description": choice.description}
            for number, choice in enumerate(question.choices, 1)
        ],
        "multi_select": question.multi_select,
        "header": question.header,
    }
    return shown


def _answers(ended: InputResult) -> QuestionAnswers:
    """Return the answers for the call.

    Raises:
        ToolFailed: code `question_closed`: the question was withdrawn.
    """
    if ended.outcome not in ("answered", "declined", "expired"):
        raise ToolFailed("The question was withdrawn", code="question_closed")
    responses: Mapping[str, Any] = ended.answer or {}
    return QuestionAnswers(cast("Any", ended.outcome), responses)


def _was_first(stored: StoredQuestion) -> QuestionAlreadyAnswered:
    by = stored.answered_by
    return QuestionAlreadyAnswered(
        "Already answered" + (f" by {by}" if by else ""), question_id=stored.id, by=by
    )


def _late_run(stored: StoredQuestion) -> str:
    """Return the ID of the run for a late answer, known before it starts."""
    return f"run_{stored.id.removeprefix('qst_')}"


def _late(stored: StoredQuestion, said: StoredReply) -> TakenAnswer:
    message = _late_message(stored, said)
    return TakenAnswer("late", message=message, stored=stored, run_id=_late_run(stored))


def _late_message(stored: StoredQuestion, said: StoredReply) -> str:
    """Return the message for the session about a late answer."""
    lines = ["My late answer to your earlier question:"]
    for question in stored.questions:
        response = said.responses[question["id"]]
        answer = response if isinstance(response, str) else ", ".join(response)
        lines += [f"You asked: {question['question']}", f"My answer: {answer}"]
    return "\n".join(lines)
