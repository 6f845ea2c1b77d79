"""User questions of a session, and their answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.questions import answer_question
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.session_deps import ReadableSession
from app.core.errors import (
    AlreadyFinished,
    Busy,
    Conflict,
    NotFound,
    QuestionAlreadyAnswered,
    QuestionClosed,
)
from app.execution.interactions.replies import QuestionReply

router = routes_of("questions")

_QUESTION: dict[str, Any] = {
    "question_id": "qst_1",
    "tool_name": "ask_user",
    "question": "Which database?",
    "choices": ["PostgreSQL", "SQLite"],
    "multi_select": False,
    "questions": [
        {
            "id": "q1",
            "question": "Which database?",
            "choices": [
                {"id": "choice_1", "label": "PostgreSQL", "description": ""},
                {"id": "choice_2", "label": "SQLite", "description": ""},
            ],
            "multi_select": False,
            "header": "",
        }
    ],
}


class QuestionList(BaseModel):
    """Open questions of a session, each as its `question_asked` event."""

    model_config = example(questions=[_QUESTION])

    questions: list[dict[str, Any]]


class QuestionAnswer(Body):
    """Answer to all questions of one `question_asked` event."""

    model_config = example(answer="choice_1")

    outcome: Literal["answered", "declined"] = "answered"
    answer: Any = Field(
        default=None,
        description="A text (ID or label of a choice, or free text), a list of choices, or "
        "`{choices, text}`; for several questions, an object of these by question ID.",
    )
    client_message_id: Identifier | None = Field(
        default=None, description="ID of the message created from a late answer."
    )


class QuestionTaken(BaseModel):
    """Result of an answer.

    `late` if the question had ended: the answer then becomes a message.
    """

    model_config = example(question_id="qst_1", outcome="answered")

    question_id: str
    outcome: Literal["answered", "declined", "late"]
    repeat: bool = Field(default=False, description="Whether the same answer was already accepted.")
    run_id: str | None = None
    message_id: str | None = None


@router.get(
    "/sessions/{session_id}/questions",
    summary="List open questions of a session",
    responses=problems(NotFound),
)
async def list_questions(session: ReadableSession, service: ServiceDep) -> QuestionList:
    """Scope `chat`."""
    return QuestionList(questions=service.questions.pending(session.id))


@router.post(
    "/sessions/{session_id}/questions/{question_id}/answer",
    summary="Answer a question",
    responses=problems(
        NotFound,
        AlreadyFinished,
        Busy,
        Conflict,
        QuestionAlreadyAnswered,
        QuestionClosed,
        body=True,
    ),
)
async def give_answer(
    session_id: PathId,
    question_id: PathId,
    body: QuestionAnswer,
    service: ServiceDep,
    principal: Chatter,
) -> QuestionTaken:
    """Scope `chat`. The first valid answer wins; repeating the same answer is harmless."""
    session = await service.session_for(principal, session_id)
    taken = await answer_question(
        service,
        principal,
        session,
        question_id,
        QuestionReply(body.outcome, body.answer),
        client_message_id=body.client_message_id,
    )
    await service.db.flush()
    return QuestionTaken(question_id=question_id, **taken)
