"""What counts as an answer, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidInput
from app.execution.interactions.replies import MAX_TEXT, QuestionReply, responses_to

CHOICES = [{"id": "choice_1", "label": "red"}, {"id": "choice_2", "label": "blue"}]
ONE = {"id": "q1", "choices": CHOICES, "multi_select": False}
MANY = {"id": "q2", "choices": CHOICES, "multi_select": True}
FREE = {"id": "q3", "choices": [], "multi_select": False}


@pytest.mark.parametrize(
    ("question", "answer", "response"),
    [
        (ONE, "choice_2", "blue"),
        (ONE, "blue", "blue"),
        (ONE, "green, rather", "green, rather"),
        (ONE, ["choice_1"], "red"),
        (ONE, {"choices": ["red"]}, "red"),
        (ONE, {"text": " red "}, "red"),
        (ONE, {"q1": "choice_1"}, "red"),
        (MANY, "red", ["red"]),
        (MANY, ["choice_1", "blue"], ["red", "blue"]),
        (MANY, {"choices": ["red"], "text": "and green"}, ["red", "and green"]),
        (MANY, "own words", ["own words"]),
        (FREE, "\ud800", "?"),
    ],
)
def test_an_answer_is_a_choice_or_own_words(question: Any, answer: Any, response: Any):
    assert responses_to([question], QuestionReply("answered", answer)) == {question["id"]: response}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (ONE, None),
        (ONE, 1),
        (ONE, ""),
        (ONE, " "),
        (ONE, []),
        (ONE, {}),
        (ONE, ["green"]),
        (ONE, ["red", "blue"]),
        (ONE, {"choices": ["red"], "text": "x"}),
        (ONE, {"choices": "red"}),
        (ONE, {"choices": [{"id": "choice_1"}]}),
        (ONE, {"text": 7}),
        (ONE, {"other": "red"}),
        (ONE, "x" * (MAX_TEXT + 1)),
        (MANY, ["red", "choice_1"]),
        (FREE, ["red"]),
    ],
)
def test_what_does_not_fit_is_refused_with_the_field(question: Any, answer: Any):
    with pytest.raises(InvalidInput) as refused:
        responses_to([question], QuestionReply("answered", answer))
    assert refused.value.details["field"] == "answer"


def test_several_questions_want_an_answer_each():
    answer = {"q1": "red", "q2": ["blue"], "q3": "words"}
    questions = [ONE, MANY, FREE]
    assert responses_to(questions, QuestionReply("answered", answer)) == {
        "q1": "red",
        "q2": ["blue"],
        "q3": "words",
    }
    for wrong in ("red", {"q1": "red"}, {**answer, "q4": "x"}, {"choices": ["red"]}):
        with pytest.raises(InvalidInput, match="q1, q2, q3"):
            responses_to(questions, QuestionReply("answered", wrong))


def test_who_declines_says_nothing():
    assert responses_to([ONE], QuestionReply("declined")) == {}
    with pytest.raises(InvalidInput):
        responses_to([ONE], QuestionReply("declined", "red"))
