"""Compatibility of `ask_user` with its other names and their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.core.field_problems import problem
from app.toolkit.result import ToolResult
from app.toolkit.schema import invalid_arguments

_MOST_QUESTIONS = 4
_CHOICES = range(2, 5)
_STATUS = {"answered": "answered", "declined": "declined", "expired": "timed_out"}


def as_one_question(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{question, options[]}`: one question, with options as texts."""
    if "options" not in raw:
        return raw
    kept = {name: value for name, value in raw.items() if name != "options"}
    return {**kept, "choices": raw["options"] or []}


def one_question_shape(result: ToolResult) -> ToolResult:
    """Return `{question, answer, status}`."""
    responses = _responses(result)
    if not responses:
        return result
    first = responses[0]
    fields = {
        "question": first["question"],
        "answer": _joined(first["user_response"]),
        "status": _status(result),
    }
    return replace(result, data=fields, text=None)


def as_claude(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{questions[1..4]{question, header, options[2..4]{label, description},
    multiSelect}}`.

    Raises:
        InvalidArguments: there are more questions, or fewer or more options.
    """
    questions = raw.get("questions")
    if not isinstance(questions, list):
        return as_one_question(raw)
    if len(questions) > _MOST_QUESTIONS:
        raise _problem("questions", f"at most {_MOST_QUESTIONS} questions", 1, _MOST_QUESTIONS)
    return {**raw, "questions": [_question(item, at) for at, item in enumerate(questions)]}


def claude_shape(result: ToolResult) -> ToolResult:
    """Return `{questions[], answers{question: answer}}`."""
    responses = _responses(result)
    if not responses:
        return result
    fields = {
        "questions": [
            {"question": item["question"], "options": item["choices_offered"]} for item in responses
        ],
        "answers": {item["question"]: _joined(item["user_response"]) for item in responses},
    }
    return replace(result, data=fields, text=None)


def _question(item: Any, at: int) -> Any:
    if not isinstance(item, dict):
        return item
    names = {"options": "choices", "multiSelect": "multi_select"}
    fields = {names.get(name, name): value for name, value in item.items()}
    choices = fields.get("choices")
    if isinstance(choices, list) and len(choices) not in _CHOICES:
        raise _problem(f"questions.{at}.options", "between 2 and 4 options", 2, 4)
    return fields


def _problem(path: str, message: str, least: int, most: int) -> Exception:
    named = {"min_length": least, "max_length": most}
    return invalid_arguments([problem(path, message, "too_many_or_few", named)])


def _responses(result: ToolResult) -> list[dict[str, Any]]:
    drawn = result.raw_result.data if result.success and result.raw_result else None
    return list(drawn.get("responses", ())) if isinstance(drawn, dict) else []


def _status(result: ToolResult) -> str:
    assert result.raw_result is not None
    return _STATUS[result.raw_result.data["status"]]


def _joined(response: str | list[str]) -> str:
    return response if isinstance(response, str) else ", ".join(response)
