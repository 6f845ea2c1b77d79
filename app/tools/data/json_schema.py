"""Validation of a value against an untrusted JSON Schema.

The schema comes from a caller, so it may neither access the network nor exceed a limited number of
steps: references stay inside it, patterns run in linear time, and every evaluated keyword counts by
the size of its value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, UndefinedTypeCheck, UnknownType, ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from app.core.errors import ToolFailed
from app.core.text import truncate
from app.tools.data.json_formats import FORMATS, schema_options
from app.tools.data.json_pointer import pointer

MAX_ERRORS = 100
_MAX_STEPS = 500_000
# Resolving a reference takes ten times as long as most keywords.
_REFERENCE = 10
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
# Compiling an expression takes up to some hundredths of a second, and its states take memory.
_EXPRESSION = 1_000
_FORMAT_REGEX = 5_000
_MAX_PAIRS = 2_000_000
# The draft's own schema is checked for each, some tenths of a millisecond.
_MAX_PARTS = 5_000
_SHOWN = 300
_MAX_PLACE = 10_000
_REASONS = 5
# Placed last, these run after all others have paid for the same walk.
_LAST = ("unevaluatedItems", "unevaluatedProperties")

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def check(value: Any, schema: Any) -> dict[str, Any]:
    """Return every violation of `schema` by `value`, up to `MAX_ERRORS`.

    `$schema` selects the draft; the default is 2020-12.

    Raises:
        ToolFailed: `bad_schema`, or `schema_too_costly`.
    """
    if not isinstance(schema, dict | bool):
        raise _bad_schema("it must be an object, true or false")
    draft = _draft(schema)
    _check_shape(schema)
    try:
        draft.check_schema(schema, format_checker=FormatChecker(formats=()))
        checker = _checker(draft, value, schema)
        found = list(islice(checker.iter_errors(value), MAX_ERRORS + 1))
    except SchemaError as error:
        where = pointer(tuple(error.absolute_path)) or "the root"
        raise _bad_schema(f"{where}: {truncate(error.message, _SHOWN)}") from None
    except Unresolvable as error:
        raise _bad_schema(
            f"reference {truncate(str(error.ref), 100)!r} points outside the schema; "
            "only internal references are supported"
        ) from None
    except (UnknownType, UndefinedTypeCheck):
        raise _bad_schema("it names a type unknown to its draft") from None
    except RecursionError:
        raise _bad_schema("it is nested too deeply, or refers to itself endlessly") from None
    return {
        "valid": not found,
        "errors": [_described(error) for error in found[:MAX_ERRORS]],
        "truncated": len(found) > MAX_ERRORS,
        "draft": str(draft.META_SCHEMA.get("$id") or draft.META_SCHEMA.get("id")),
    }


def _draft(schema: Any) -> Any:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is None:
        return Draft202012Validator
    draft = validator_for(schema, default=None) if isinstance(named, str) else None  # type: ignore[arg-type]
    if draft is None:
        raise _bad_schema(f"$schema names an unknown draft: {str(named)[:100]!r}")
    return draft


def _check_shape(schema: Any) -> None:
    """Refuse schemas that would follow other rules, or take quadratic time."""
    nodes = [node for node in _containers(schema) if node is not schema]
    pairs = sum(
        len(node) ** 2
        for node in nodes
        if isinstance(node, list) and not all(isinstance(item, str) for item in node)
    )
    if pairs > _MAX_PAIRS:
        raise ToolFailed("schema: its lists are too long", code="schema_too_costly")
    objects = [node for node in [schema, *nodes] if isinstance(node, dict)]
    flags = sum(isinstance(value, bool) for node in objects for value in node.values())
    if len(nodes) + flags > _MAX_PARTS:
        raise ToolFailed("schema: it has too many parts", code="schema_too_costly")
    if any(isinstance(node.get("$schema"), str) for node in objects if node is not schema):
        raise _bad_schema("$schema is only allowed at the root")
    keys = {key for node in objects for key in node}
    if "patternProperties" in keys and "unevaluatedProperties" in keys:
        raise _bad_schema(
            "patternProperties cannot be combined with unevaluatedProperties; remove one"
        )


def _containers(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            yield node
            waiting.extend(node.values() if isinstance(node, dict) else node)


def _checker(draft: Any, value: Any, schema: Any) -> Any:
    """Return a validator of this call: its keywords share a step counter."""
    plain = _ordered(schema)
    if isinstance(plain, dict):
        plain.pop("$schema", None)
    meter = _Meter(value, plain)
    patterns = _Patterns(meter)
    ours: dict[str, Keyword] = {
        "pattern": patterns.of_text,
        "patternProperties": patterns.of_keys,
        "additionalProperties": patterns.of_other_keys,
        "uniqueItems": _unique_items,
        "multipleOf": _multiple_of,
        "divisibleBy": _multiple_of,
    }
    own = {name: function for name, function in ours.items() if name in draft.VALIDATORS}
    keywords = {
        name: meter.counted(name, function)
        for name, function in {**draft.VALIDATORS, **own}.items()
    }
    kind: Any = extend(draft, keywords)  # type: ignore[no-untyped-call]
    return kind(plain, registry=Registry(), format_checker=_formats())


def _ordered(node: Any) -> Any:
    """Return a copy with the keywords of `_LAST` last."""
    if isinstance(node, list):
        return [_ordered(item) for item in node]
    if not isinstance(node, dict):
        return node
    keys = sorted(node, key=lambda key: key in _LAST)
    return {key: _ordered(node[key]) for key in keys}


class _Meter:
    """Step counter; larger values count more, because messages quote them."""

    def __init__(self, *values: Any) -> None:
        self._left = _MAX_STEPS
        self._sizes: dict[int, int] = {}
        for value in values:
            self._measure(value)

    def counted(self, name: str, keyword: Keyword) -> Keyword:
        def look(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            size = self.size(instance)
            self.spend((1 + self._width(value)) * (1 + size // 100))
            if name in _REFERENCES:
                self.spend(_REFERENCE)
            elif name == "format" and value == "regex":
                self.spend(_FORMAT_REGEX)
            for error in keyword(validator, value, instance, schema) or ():
                # Its message has quoted both completely.
                self.spend(1 + (size + self.size(value)) // 8)
                error.message = truncate(error.message, _SHOWN)
                error.args = ()  # the message contains the long one as well
                yield error

        return look

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ToolFailed(
                "Checking this value against this schema needs too many steps",
                code="schema_too_costly",
            )

    def _measure(self, value: Any) -> int:
        if isinstance(value, dict | list):
            items = value.values() if isinstance(value, dict) else value
            size = 1 + sum(map(self._measure, items))
            size += sum(map(self.size, value)) if isinstance(value, dict) else 0
            self._sizes[id(value)] = size
            return size
        return self.size(value)

    def size(self, value: Any) -> int:
        """Return the size of a value, about a sixteenth of its text."""
        if isinstance(value, str):
            return 1 + len(value) // 16
        return self._sizes.get(id(value), 1) if isinstance(value, dict | list) else 1

    def _width(self, value: Any) -> int:
        return len(value) if isinstance(value, dict | list) else 0


class _Patterns:
    """Compiled expressions of one call.

    Matching costs steps too: a wide expression evaluates all its states per character.
    """

    def __init__(self, meter: _Meter) -> None:
        self._meter = meter
        self._read: dict[str, Any] = {}

    def of_text(self, _v: Any, pattern: Any, instance: Any, _s: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not self._found(pattern, instance):
            yield ValidationError(f"does not match {pattern[:_SHOWN]!r}")

    def of_keys(self, validator: Any, patterns: Any, instance: Any, _s: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for pattern, subschema in patterns.items():
                for key, value in instance.items():
                    if self._found(pattern, key):
                        yield from validator.descend(
                            value, subschema, path=key, schema_path=pattern
                        )

    def of_other_keys(
        self, validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        known = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for key, value in instance.items():
            if key in known or any(self._found(each, key) for each in patterns):
                continue
            if allowed is False:
                yield ValidationError("is not allowed here", path=[key])
            else:
                yield from validator.descend(value, allowed, path=key)

    def _found(self, pattern: str, text: str) -> bool:
        known = self._read.get(pattern)
        if known is None:
            known = self._read[pattern] = _regex(pattern)
            self._meter.spend(_EXPRESSION + known.programsize)
        self._meter.spend(1 + known.programsize * self._meter.size(text) // 20)
        # RE2 reads UTF-8, which cannot represent a lone surrogate.
        return bool(known.search(text.encode("utf-8", "replace").decode()))


def _regex(pattern: str) -> Any:
    try:
        return re2.compile(pattern, schema_options())
    except (re2.error, UnicodeEncodeError):
        raise _bad_schema(
            f"pattern {pattern[:100]!r} is too large, or not valid RE2 syntax (no look-around)"
        ) from None


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if wanted and isinstance(instance, list):
        distinct = {json.dumps(_canonical(item), sort_keys=True) for item in instance}
        if len(distinct) != len(instance):
            yield ValidationError("has duplicate items")


def _multiple_of(validator: Any, factor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Compare by decimal digits: as doubles, 4.35 is not a multiple of 0.01, and some numbers
    are too large.
    """
    if not validator.is_type(instance, "number"):
        return
    if (Fraction(repr(instance)) / Fraction(repr(factor))).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {factor!r}")


def _canonical(value: Any) -> Any:
    """Return one form for equal JSON: 1.0 becomes 1."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=1)
def _formats() -> FormatChecker:
    checker = FormatChecker()
    for name, has_format in FORMATS.items():
        checker.checks(name)(lambda text, test=has_format: not isinstance(text, str) or test(text))
    return checker


def _described(error: ValidationError) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": _place(error),
        "message": error.message,
        "keyword": str(error.validator or "false"),
    }
    if error.context:
        row["reasons"] = [
            f"{_place(inner)}: {truncate(inner.message, _SHOWN)}"
            for inner in error.context[:_REASONS]
        ]
    return row


def _place(error: ValidationError) -> str:
    """Return the error's pointer, truncated if a key is too long."""
    return truncate(pointer(tuple(error.absolute_path)), _MAX_PLACE)


def _bad_schema(reason: str) -> ToolFailed:
    return ToolFailed(f"schema: {reason}", code="bad_schema")
