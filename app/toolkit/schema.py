"""Argument models → the JSON Schema a model sees, and the validator that enforces it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.core.errors import InvalidArguments
from app.core.field_problems import Problem, field_problem
from app.core.text import truncate
from app.toolkit.problem_words import problem_words, with_guess

MAX_PROBLEMS = 100
MAX_PATH = 200
MAX_SUMMARY = 4000

M = TypeVar("M", bound=BaseModel)


def model_schema(model: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema of `model` with the titles dropped: they cost tokens and say nothing."""
    schema = model.model_json_schema()
    _drop_titles(schema)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def _drop_titles(node: Any) -> None:
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        for key, item in node.items():
            # Under `properties` a key named "title" is an argument, not an annotation.
            if key in ("properties", "$defs") and isinstance(item, dict):
                for sub in item.values():
                    _drop_titles(sub)
            else:
                _drop_titles(item)
    elif isinstance(node, list):
        for item in node:
            _drop_titles(item)


def argument_validator(model: type[M]) -> Callable[[bytes], M]:
    """A function from raw JSON bytes to a validated `model`.

    Raises (the function): InvalidArguments with every problem, each with its path.
    """
    validate: Callable[[bytes], M] = model.__pydantic_validator__.validate_json

    def check(raw: bytes) -> M:
        try:
            return validate(raw)
        except ValidationError as error:
            raise invalid_arguments(problems(error, known=model.model_fields)) from None

    return check


def problems(error: ValidationError, *, known: Iterable[str] = ()) -> list[Problem]:
    """Pydantic's errors with paths like `a.b[0]`; the first hundred.

    Args:
        known: the arguments that there are, for a guess what an unknown one means.
    """
    found = error.errors(include_url=False, include_input=False)
    return [_problem(item, known) for item in islice(found, MAX_PROBLEMS)]


def _problem(found: ErrorDetails, known: Iterable[str]) -> Problem:
    label = path_label(found["loc"])
    item = field_problem(label, found)
    words = problem_words(item["code"], label, found.get("ctx", {}))
    if words is not None and item["code"] == "extra_forbidden" and len(found["loc"]) == 1:
        words = with_guess(words, label, known)
    return item if words is None else {**item, "message": words}


def path_label(location: tuple[int | str, ...]) -> str:
    """`("a", "b", 0)` → `a.b[0]`; the root is `arguments`, a very long path is cut."""
    label = ""
    for part in location:
        if isinstance(part, int):
            label += f"[{part}]"
        else:
            label += f".{part}" if label else part
    return truncate(label, MAX_PATH) or "arguments"


def invalid_arguments(errors: list[Problem]) -> InvalidArguments:
    """One error that names every problem, and with each the argument."""
    summary = "; ".join(
        item["message"] if item["path"] in item["message"] else f"{item['path']}: {item['message']}"
        for item in errors
    )
    message = truncate(f"Invalid arguments: {summary}", MAX_SUMMARY)
    return InvalidArguments(message, errors=errors)
