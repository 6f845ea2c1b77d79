"""What `ask_user` puts, by every name, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.core.errors import InvalidArguments
from app.domain.interactions import QUESTIONS, Choice, Question, QuestionAnswers, Response
from app.toolkit.context import ToolContext
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope
from app.tools.interaction.ask_user import DECLINED, TIMED_OUT, ask_user
from tests.tools.calls import call, call_as


@dataclass
class User:
    """Answers with what was prepared; implements `Questions`."""

    responses: dict[str, Response] = field(default_factory=dict)
    outcome: Any = "answered"
    asked: list[Question] = field(default_factory=list)

    async def ask(
        self, questions: Sequence[Question], *, operation_id: str, timeout_s: float | None
    ) -> QuestionAnswers:
        assert operation_id == "op_1"
        self.asked = list(questions)
        return QuestionAnswers(self.outcome, self.responses)


def of(user: User) -> ToolContext:
    services = Services()
    services.register(QUESTIONS, user)
    return ToolContext("c1", "op_1", services=services)


@pytest.mark.requirement("SYS-05", "B-08", "B-29")
def test_it_reads_waits_for_a_person_and_goes_by_its_other_names():
    assert ask_user.permission_class is PermissionClass.READ
    assert ask_user.side_effect_scope is SideEffectScope.NONE
    assert ask_user.interactive
    assert not ask_user.cacheable
    assert {alias.name for alias in ask_user.aliases} == {
        "clarify",
        "ask_user_question",
        "AskUserQuestion",
        "AskUserQuestionTool",
    }


async def test_one_question_gives_what_was_said_to_it():
    user = User({"q1": "blue"})
    result = await call(ask_user, of(user), question="Which?", choices=["red", "blue"])
    assert user.asked == [Question("q1", "Which?", (Choice("red"), Choice("blue")))]
    assert result.data == {
        "question": "Which?",
        "choices_offered": ["red", "blue"],
        "user_response": "blue",
    }


async def test_several_questions_give_a_response_each():
    user = User({"a": ["x", "own"], "q2": "words"})
    questions = [
        {"id": "a", "question": "A?", "choices": ["x", "y"], "multi_select": True},
        {"question": "B?"},
    ]
    result = await call(ask_user, of(user), questions=questions)
    assert result.data == {
        "responses": [
            {
                "id": "a",
                "question": "A?",
                "choices_offered": ["x", "y"],
                "user_response": ["x", "own"],
            },
            {"id": "q2", "question": "B?", "choices_offered": [], "user_response": "words"},
        ],
        "timed_out": False,
    }


@pytest.mark.parametrize(("outcome", "reported"), [("expired", TIMED_OUT), ("declined", DECLINED)])
async def test_no_answer_is_said_in_a_sentence(outcome: str, reported: str):
    user = User(outcome=outcome)
    one = await call(ask_user, of(user), question="Which?")
    assert one.data["user_response"] == reported
    many = await call(ask_user, of(user), questions=[{"question": "A?"}, {"question": "B?"}])
    assert [item["user_response"] for item in many.data["responses"]] == [reported, reported]
    assert many.data["timed_out"] is (outcome == "expired")
    assert TIMED_OUT.startswith("The user did not provide a response within the time limit")


async def test_clarify_is_the_same_by_another_name():
    user = User({"q1": "yes"})
    result = await call_as("clarify", ask_user, of(user), question="Sure?", choices=["yes", "no"])
    assert result.data == {
        "question": "Sure?",
        "choices_offered": ["yes", "no"],
        "user_response": "yes",
    }


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("answered", "answered"), ("declined", "declined"), ("expired", "timed_out")],
)
async def test_the_name_with_options_gets_an_answer_and_a_status(outcome: str, status: str):
    user = User({"q1": "b"}, outcome)
    result = await call_as(
        "ask_user_question", ask_user, of(user), question="Which?", options=["a", "b"]
    )
    assert user.asked[0].choices == (Choice("a"), Choice("b"))
    assert result.data.keys() == {"question", "answer", "status"}
    assert result.data["status"] == status
    assert (result.data["answer"] == "b") is (outcome == "answered")


CLAUDE: list[dict[str, Any]] = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [
            {"label": "PostgreSQL", "description": "a server"},
            {"label": "SQLite", "description": "a file"},
        ],
        "multiSelect": False,
    },
    {
        "question": "Which parts?",
        "header": "Parts",
        "options": [{"label": "a", "description": ""}, {"label": "b", "description": ""}],
        "multiSelect": True,
    },
]


@pytest.mark.parametrize("name", ["AskUserQuestion", "AskUserQuestionTool"])
async def test_the_name_with_headers_gets_answers_by_question(name: str):
    user = User({"q1": "SQLite", "q2": ["a", "b"]})
    result = await call_as(name, ask_user, of(user), questions=CLAUDE)
    assert user.asked == [
        Question(
            "q1",
            "Which database?",
            (Choice("PostgreSQL", "a server"), Choice("SQLite", "a file")),
            False,
            "Database",
        ),
        Question("q2", "Which parts?", (Choice("a"), Choice("b")), True, "Parts"),
    ]
    assert result.data == {
        "questions": [
            {"question": "Which database?", "options": ["PostgreSQL", "SQLite"]},
            {"question": "Which parts?", "options": ["a", "b"]},
        ],
        "answers": {"Which database?": "SQLite", "Which parts?": "a, b"},
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"question": " "},
        {"question": "x" * 2001},
        {"question": "A?", "questions": [{"question": "B?"}]},
        {"question": "A?", "choices": ["1", "2", "3", "4", "5"]},
        {"question": "A?", "choices": ["same", "same"]},
        {"question": "A?", "multi_select": True},
        {"questions": [{"question": "A?"}] * 6},
        {"questions": [{"id": "x", "question": "A?"}, {"id": "x", "question": "B?"}]},
        {"questions": [{"id": "q2", "question": "A?"}, {"question": "B?"}]},
        {"questions": [{"question": "A?", "header": "thirteen char"}]},
        {"questions": [{"question": "A?"}], "choices": ["x"]},
    ],
)
async def test_questions_nobody_could_answer_are_refused(arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments):
        await call(ask_user, of(User()), **arguments)


@pytest.mark.parametrize(
    "questions",
    [
        [CLAUDE[0]] * 5,
        [{**CLAUDE[0], "options": CLAUDE[0]["options"][:1]}],
        [{**CLAUDE[0], "options": [{"label": str(n), "description": ""} for n in range(5)]}],
        ["no object"],
    ],
)
async def test_the_name_with_headers_keeps_its_own_bounds(questions: list[Any]):
    with pytest.raises(InvalidArguments):
        await call_as("AskUserQuestion", ask_user, of(User()), questions=questions)
