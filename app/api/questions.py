"""Answers to user questions, shared by WebSocket and REST."""

from __future__ import annotations

from typing import Any

from app.agents.content import user_content
from app.agents.sessions import Session
from app.api.principal import Principal
from app.api.service import Service
from app.core.errors import TollgateError
from app.execution.interactions.replies import QuestionReply
from app.governance.limits import QuotaSubject


async def answer_question(
    service: Service,
    principal: Principal,
    session: Session,
    question_id: str,
    reply: QuestionReply,
    *,
    client_message_id: str | None = None,
) -> dict[str, Any]:
    """Submit an answer and return its outcome.

    An answer that is too late for its call becomes a message of the session: its `outcome` is
    `late`, with the `run_id` and `message_id` of the message.

    Raises:
        TollgateError: as `UserQuestions.answer` and `RunService.send_message`.
    """
    questions = service.questions
    taken = await questions.answer(question_id, reply, by=principal.user_id, session_id=session.id)
    outcome_data: dict[str, Any] = {"outcome": taken.outcome}
    if taken.is_repeat:
        outcome_data["repeat"] = True
    if taken.message is None:
        return outcome_data if taken.run_id is None else outcome_data | {"run_id": taken.run_id}
    try:
        outcome_data |= await bring(
            service,
            session,
            taken.message,
            principal.quota_subject,
            client_message_id=client_message_id,
            run_id=taken.run_id,
        )
    except TollgateError:
        await questions.reopen(taken)
        raise
    return outcome_data


async def bring(
    service: Service,
    session: Session,
    text: str,
    quota_subject: QuotaSubject,
    *,
    client_message_id: str | None = None,
    run_id: str | None = None,
) -> dict[str, Any]:
    """Send a message to a session, queued if it is busy; return the IDs of run and message.

    Raises:
        TollgateError: as `RunService.send_message`.
    """
    begun, message_id = await service.runs.send_message(
        session,
        user_content(text),
        client_message_id=client_message_id,
        when_busy="queue",
        quota_subject=quota_subject,
        run_id=run_id,
    )
    return {"run_id": begun, "message_id": message_id}
