"""Conversion of `key=value` arguments to the JSON that a tool's schema expects.

Only arguments that cannot be parsed are refused here. A value of the wrong type is passed on as
text, and validation reports all problems together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.core.errors import InvalidInput

_INTEGER = re.compile(r"[+-]?\d{1,400}")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_DEEPEST = 8


NO_ALIASES: Mapping[str, str] = {}


def parse_pairs(
    pairs: Iterable[str],
    schema: Mapping[str, Any] | None,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> dict[str, Any]:
    """Parse `key=value` words into arguments; list arguments may repeat their key.

    Args:
        schema: JSON schema of the tool's parameters; None keeps every value as text.
        aliases: Argument names by alias.

    Raises:
        InvalidInput: A word is not `key=value`, or a single value is given twice.
    """
    collected: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(
                f"Invalid argument {pair!r}: use key=value, or --json for raw JSON", field=pair
            )
        collected.setdefault(key, []).append(value)
    return {
        key: _value(key, values, _schema_of(aliases.get(key, key), schema))
        for key, values in collected.items()
    }


def single_text_argument(schema: Mapping[str, Any]) -> str | None:
    """Return the only required argument of a tool if it is text."""
    required = list(schema.get("required", ()))
    if len(required) != 1:
        return None
    found = _schema_of(required[0], schema)
    return required[0] if found is not None and "string" in _types(found, found) else None


class _Field(dict[str, Any]):
    """Schema of a property that can resolve its `$ref`."""

    root: Mapping[str, Any]


def _schema_of(name: str, schema: Mapping[str, Any] | None) -> _Field | None:
    """Return the schema of one property, or None if the tool has no such property."""
    root: Mapping[str, Any] = {} if schema is None else schema
    found = {"type": "string"} if schema is None else root.get("properties", {}).get(name)
    if not isinstance(found, dict):
        return None
    field = _Field(found)
    field.root = root
    return field


def _value(key: str, values: list[str], schema: _Field | None) -> Any:
    if schema is None:
        guessed = [_json_or_text(value) for value in values]
        return guessed[0] if len(guessed) == 1 else guessed
    types = _types(schema, schema)
    if "array" in types and "string" not in types:
        return _array(values, schema)
    if len(values) > 1:
        raise InvalidInput(
            f"Argument {key} takes one value, but {len(values)} were given", field=key
        )
    return _scalar(values[0], types)


def _array(values: list[str], schema: _Field) -> Any:
    if len(values) == 1 and values[0].lstrip().startswith("["):
        return _json_or_text(values[0])
    items: Mapping[str, Any] = next(
        (part["items"] for part in _parts(schema, schema) if isinstance(part.get("items"), dict)),
        {},
    )
    field = _Field(items)
    field.root = schema.root
    types = _types(field, field)
    return [_scalar(value, types) if types else _json_or_text(value) for value in values]


def _scalar(value: str, types: set[str]) -> Any:
    if not types:
        return _json_or_text(value)
    if "string" in types:
        return value
    lowered = value.strip().lower()
    if "boolean" in types and lowered in _TRUE | _FALSE and not types & {"integer", "number"}:
        return lowered in _TRUE
    # `strip` removes more than `int` accepts: the separators U+001C to U+001F.
    if "integer" in types and _INTEGER.fullmatch(value.strip()):
        return int(value.strip())
    if types == {"integer"}:
        return value
    return _json_or_text(value)


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _types(schema: Mapping[str, Any], field: _Field) -> set[str]:
    """Return every JSON type that the schema allows."""
    found: set[str] = set()
    for part in _parts(schema, field):
        named = part.get("type")
        found |= {named} if isinstance(named, str) else set(named or ())
        if named is None and "enum" in part:
            found |= {_type_name(value) for value in part["enum"]}
        if named is None and "const" in part:
            found.add(_type_name(part["const"]))
    return found


def _parts(schema: Any, field: _Field, depth: int = 0) -> Iterable[Mapping[str, Any]]:
    """Yield the schema and all its alternatives, with references resolved."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _parts(_resolve(reference, field.root), field, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(word, ()):
            yield from _parts(option, field, depth + 1)


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")
