"""JSON Schemas of tool results, built from a few common forms.

Records are open: a field that is not named may come along. What is named is of that kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}


def record(may: Mapping[str, Schema] | None = None, /, **must: Schema) -> Schema:
    """An object with the fields `must`, and those of `may` now and then."""
    schema: dict[str, Any] = {"type": "object", "properties": {**must, **(may or {})}}
    if must:
        schema["required"] = list(must)
    return schema


def keyed(value: Schema) -> Schema:
    """An object whose keys are names."""
    return {"type": "object", "additionalProperties": value}


def listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def either(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def maybe(value: Schema) -> Schema:
    """The value, or null."""
    return either(value, {"type": "null"})
