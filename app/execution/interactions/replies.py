"""Parsing of answers according to their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import InvalidInput
from app.core.text import clean
from app.domain.interactions import Response

MAX_TEXT = 10_000
_FORM = frozenset({"choices", "text"})


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """Submitted answer; `responses_to` parses `answer`."""

    outcome: Literal["answered", "declined"]
    answer: Any = None


def responses_to(
    questions: Sequence[Mapping[str, Any]], reply: QuestionReply
) -> dict[str, Response]:
    """Return the answers by question ID; empty if declined.

    An answer is a text, a list of choices, or `{choices, text}`; a text equal to the ID or label of
    a choice selects that choice, any other text is free text. For several questions it is an object
    of answers by question ID.

    Args:
        questions: as in the event: `id`, `choices` with `id` and `label`, `multi_select`.

    Raises:
        InvalidInput: the answer does not match a question; the message says which.
    """
    if reply.outcome == "declined":
        if reply.answer is not None:
            raise InvalidInput("`declined` cannot be combined with an answer", field="answer")
        return {}
    given = _by_question(questions, reply.answer)
    return {question["id"]: _response(question, given[question["id"]]) for question in questions}


def _by_question(questions: Sequence[Mapping[str, Any]], answer: Any) -> Mapping[str, Any]:
    ids = [str(question["id"]) for question in questions]
    is_form = isinstance(answer, dict) and answer.keys() <= _FORM
    if len(ids) == 1 and (is_form or not isinstance(answer, dict)):
        return {ids[0]: answer}
    if not isinstance(answer, dict) or answer.keys() != set(ids):
        raise InvalidInput(
            f"answer must be an object with an answer for each of {', '.join(ids)}",
            field="answer",
        )
    return answer


def _response(question: Mapping[str, Any], given: Any) -> Response:
    where = f"answer to {question['id']!r}"
    if isinstance(given, str):
        choice = _label(question, given)
        given = {"text": given} if choice is None else {"choices": [given]}
    elif isinstance(given, list):
        given = {"choices": given}
    if not isinstance(given, dict) or not given.keys() <= _FORM:
        raise InvalidInput(
            f"The {where} must be a text, a list of choices, or an object of choices and text",
            field="answer",
        )
    labels = _labels(question, given.get("choices") or [], where)
    text = _text(given.get("text"), where)
    if not labels and not text:
        raise InvalidInput(f"The {where} is empty", field="answer")
    if question.get("multi_select"):
        return [*labels, text] if text else labels
    if len(labels) + bool(text) > 1:
        raise InvalidInput(f"The {where} must be one choice, or one text", field="answer")
    return labels[0] if labels else text


def _labels(question: Mapping[str, Any], chosen: Any, where: str) -> list[str]:
    if not isinstance(chosen, list) or not all(isinstance(item, str) for item in chosen):
        raise InvalidInput(f"choices of the {where} must be a list of texts", field="answer")
    labels = []
    for item in chosen:
        label = _label(question, item)
        if label is None or label in labels:
            offered = ", ".join(choice["id"] for choice in question["choices"])
            raise InvalidInput(
                f"choices of the {where} must be distinct values from {offered or 'none'}",
                field="answer",
            )
        labels.append(label)
    return labels


def _label(question: Mapping[str, Any], chosen: str) -> str | None:
    """Return the label of the chosen choice."""
    choices = question["choices"]
    for choice in choices:
        if chosen == choice["id"]:
            return str(choice["label"])
    return next((str(item["label"]) for item in choices if chosen == item["label"]), None)


def _text(given: Any, where: str) -> str:
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidInput(f"text of the {where} must be a text", field="answer")
    if len(given) > MAX_TEXT:
        raise InvalidInput(
            f"text of the {where} has {len(given)} characters; at most {MAX_TEXT}", field="answer"
        )
    return clean(given).strip()
