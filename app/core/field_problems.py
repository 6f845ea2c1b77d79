"""Problems of individual fields: message, code, and the values in the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from app.core.text import truncate

MAX_VALUE = 300
MAX_SHOWN = 20
MAX_MESSAGE = 500
# Limits and choices of the service, which never contain a submitted value.
VALUES = frozenset(
    {
        *("gt", "ge", "lt", "le", "multiple_of"),
        *("min_length", "max_length", "pattern"),
        *("expected", "expected_tags", "given", "needed"),
    }
)

FieldValue = str | int | float
Problem = dict[str, Any]
"""A `FieldProblem` as JSON."""


class FieldProblem(BaseModel):
    """Problem of one field. `code` never changes meaning; `message` is for people."""

    path: str = Field(description="Path of the invalid field, such as `a.b[0]`.")
    message: str
    code: str = Field(description="Stable code for clients to match on.")
    values: dict[str, FieldValue] = Field(
        default={},
        description="Limits and choices named by the message; never the submitted value.",
    )


class ProblemDetails(BaseModel):
    """Details of an error; further fields depend on its code."""

    model_config = ConfigDict(extra="allow")

    errors: list[FieldProblem] = Field(default=[], description="Every invalid field.")


class _Described:
    """Schema of `ProblemDetails` without validation, because plugins may raise other details."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        return handler(_described.core_schema)


_described = TypeAdapter(ProblemDetails)
Details = Annotated[dict[str, Any], _Described]


class FieldError(ValueError):
    """Error of a validator with its own code.

    Args:
        message: problem and its fix.
        code: stable code for clients to match on.
        values: values in the message, with names from `VALUES`.
    """

    def __init__(self, message: str, *, code: str, **values: FieldValue) -> None:
        super().__init__(message)
        self.code = code
        self.values = values


def field_problem(path: str, found: ErrorDetails) -> Problem:
    """Convert a Pydantic error; `found` includes its context."""
    context: Mapping[str, Any] = found.get("ctx", {})
    own = context.get("error")
    message = found["msg"].removeprefix("Value error, ")
    if isinstance(own, FieldError):
        return problem(path, message, own.code, own.values)
    return problem(path, message, found["type"], context)


def problem(path: str, message: str, code: str, values: Mapping[str, Any] | None = None) -> Problem:
    """Return a `FieldProblem` as JSON, with the values that may be disclosed."""
    data: Problem = {"path": path, "message": message, "code": code}
    named = {
        name: value if isinstance(value, int | float) else truncate(str(value), MAX_VALUE)
        for name, value in (values or {}).items()
        if name in VALUES and value is not None
    }
    return {**data, "values": named} if named else data


def problems_in(details: Any) -> list[Problem]:
    """Return the first problems in an error's details, with truncated messages."""
    listed = details.get("errors") if isinstance(details, Mapping) else None
    found = listed[:MAX_SHOWN] if isinstance(listed, list) else []
    return [
        {**item, "message": truncate(item["message"], MAX_MESSAGE)}
        for item in found
        if isinstance(item, dict) and isinstance(item.get("message"), str)
    ]
