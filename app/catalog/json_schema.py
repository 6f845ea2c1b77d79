"""Compilation of a foreign JSON Schema to the model's schema and an enforcing validator.

Schemas come from plugins and other servers, so they must neither access the network nor cost
exponential time: only local references, only patterns that RE2 runs in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson
import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator as JsonValidator
from jsonschema.validators import extend
from pydantic_core import from_json
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from app.catalog.errors import InvalidTool
from app.core.errors import InvalidArguments
from app.core.field_problems import Problem, problem
from app.core.text import truncate
from app.toolkit.problem_words import VALUE_NAMES, WORDS
from app.toolkit.schema import path_label
from app.toolkit.tool import Validator

MAX_PROBLEMS = 100

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_OPEN_ENDED = (
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
    "$dynamicRef",
)

_SHOWN = 300
_FORMS_SHOWN = 5

# The codes of argument models, so that clients need only one table.
_TYPE_CODES = {
    "string": "string_type",
    "integer": "int_type",
    "number": "float_type",
    "boolean": "bool_type",
    "array": "list_type",
    "object": "dict_type",
    "null": "none_required",
}
_KEYWORDS = {
    **{
        keyword: (WORDS[code], code)
        for keyword, code in (
            ("enum", "literal_error"),
            ("minimum", "greater_than_equal"),
            ("maximum", "less_than_equal"),
            ("exclusiveMinimum", "greater_than"),
            ("exclusiveMaximum", "less_than"),
            ("multipleOf", "multiple_of"),
            ("minLength", "string_too_short"),
            ("maxLength", "string_too_long"),
            ("minItems", "too_short"),
            ("maxItems", "too_long"),
            ("pattern", "string_pattern_mismatch"),
            ("required", "missing"),
            ("additionalProperties", "extra_forbidden"),
        )
    },
    "const": ("{label} must be {value}", "literal_error"),
    "minProperties": ("{label} must have at least {value} keys", "too_short"),
    "maxProperties": ("{label} must have at most {value} keys", "too_long"),
    "uniqueItems": ("{label} must not contain duplicate items", "unique_items"),
}
# A schema that nothing matches has no keyword.
FALSE_SCHEMA = "false_schema"


def compile_schema(
    parameters: Mapping[str, Any], *, closed: bool = True
) -> tuple[dict[str, Any], Validator]:
    """Return a private copy of `parameters` as enforced, and its validator.

    The root becomes an object schema. `closed` refuses unknown arguments if the schema does not
    mention them.

    Raises:
        InvalidTool: it is not a JSON Schema (2020-12), refers to another document, or contains a
            pattern that RE2 does not support.
    """
    schema = _copy(parameters)
    if schema.setdefault("type", "object") != "object":
        raise InvalidTool("parameters must be an object schema: set its `type` to 'object'")
    schema.setdefault("properties", {})
    if closed and not any(key in schema for key in _OPEN_ENDED):
        schema["additionalProperties"] = False
    problem = schema_problem(schema)
    if problem is not None:
        raise InvalidTool(f"parameters is not a valid JSON Schema: {problem}")
    try:
        _check_reach(schema)
    except RecursionError:
        raise InvalidTool("parameters are nested too deeply") from None
    return schema, _validator(schema)


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Return where and why `schema` is not a valid JSON Schema (2020-12), or None."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "the root"
        return f"{where}: {error.message}"
    except RecursionError:
        return "it is nested too deeply"
    return None


def _copy(parameters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        schema = orjson.loads(orjson.dumps(parameters))
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise InvalidTool(f"parameters must be plain JSON: {error}") from None
    if not isinstance(schema, dict):
        raise InvalidTool("parameters must be a JSON Schema object")
    return schema


def _check_reach(schema: dict[str, Any]) -> None:
    """Check that every reference is local and every pattern runs in RE2."""
    resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(schema))
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if "$id" in node and node is not schema:
            raise InvalidTool("parameters: `$id` is only allowed at the root")
        if "$schema" in node and node is not schema:
            # Otherwise the library continues with its own validator, whose patterns are not RE2's.
            raise InvalidTool("parameters: `$schema` is only allowed at the root")
        references = [node[key] for key in ("$ref", "$dynamicRef") if key in node]
        waiting.extend(_resolve(resolver, reference) for reference in references)
        _check_patterns(node)
        waiting.extend(_subschemas(node))


def _resolve(resolver: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        raise InvalidTool(
            f"parameters: reference {reference!r} points outside the schema; inline it"
        )
    try:
        return resolver.lookup(reference).contents
    except Unresolvable:
        raise InvalidTool(f"parameters: reference {reference!r} cannot be resolved") from None


def _check_patterns(node: dict[str, Any]) -> None:
    keyed = node.get("patternProperties", {})
    if keyed and "unevaluatedProperties" in node:
        raise InvalidTool(
            "parameters: patternProperties cannot be combined with unevaluatedProperties; "
            "remove one"
        )
    for pattern in (*([node["pattern"]] if "pattern" in node else ()), *keyed):
        try:
            _regex(pattern)
        except (re2.error, UnicodeEncodeError):
            raise InvalidTool(
                f"parameters: pattern {pattern!r} is not valid RE2 syntax (no look-around)"
            ) from None


def _subschemas(node: dict[str, Any]) -> Iterator[Any]:
    for keyword in _MAPS:
        yield from node.get(keyword, {}).values()
    for keyword in _LISTS:
        yield from node.get(keyword, ())
    for keyword in _SINGLES:
        if keyword in node:
            yield node[keyword]


def _validator(schema: dict[str, Any]) -> Validator:
    # Without its `$schema`, to which a `$ref` may refer; see `_check_reach`.
    enforced = {key: value for key, value in schema.items() if key != "$schema"}
    checker = _Checker(enforced, registry=Registry())

    def validate(raw: bytes) -> Any:
        try:
            arguments = from_json(raw, allow_inf_nan=False)
        except ValueError as error:
            fault = problem("arguments", f"Invalid JSON arguments: {error}", "json_invalid")
            raise _refused([fault]) from None
        try:
            problems = [describe(e) for e in islice(checker.iter_errors(arguments), MAX_PROBLEMS)]
        except (RecursionError, OverflowError):
            message = "arguments are nested too deeply or contain a number out of range"
            raise _refused([problem("arguments", message, "out_of_range")]) from None
        if problems:
            problems.sort(key=lambda item: item["path"])
            raise _refused(problems)
        return arguments

    return validate


def _refused(problems: list[Problem]) -> InvalidArguments:
    summary = "; ".join(item["message"] for item in problems)
    return InvalidArguments(f"Invalid arguments: {summary}", errors=problems)


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


Errors = Iterator[ValidationError]


def _pattern(validator: JsonValidator, pattern: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, str) and not _regex(pattern).search(instance):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for key, value in instance.items():
                if _regex(pattern).search(key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in known or any(_regex(pattern).search(key) for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError("unknown", path=[key])
        else:
            yield from validator.descend(value, allowed, path=key)


def _required(validator: JsonValidator, required: Any, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, dict):
        for key in required:
            if key not in instance:
                yield ValidationError("missing", path=[key])


def _unique_items(validator: JsonValidator, wanted: Any, instance: Any, _schema: Any) -> Errors:
    # the library compares every pair; equal items have equal sorted JSON
    if wanted and isinstance(instance, list):
        distinct = {json.dumps(item, sort_keys=True) for item in instance}
        if len(distinct) != len(instance):
            yield ValidationError("repeats")


def _is_integer(_checker: Any, instance: Any) -> bool:
    # 5.0 becomes 5 before, so that a handler can count with it.
    return isinstance(instance, int) and not isinstance(instance, bool)


_Checker: type[JsonValidator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "required": _required,
        "uniqueItems": _unique_items,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def describe(error: ValidationError) -> Problem:
    """Return one problem, with a path like `a.b[0]`."""
    label = truncate(path_label(tuple(error.absolute_path)), _SHOWN)
    keyword = str(error.validator or FALSE_SCHEMA)
    if keyword == "type":
        return problem(label, *_wrong_type(label, error.validator_value))
    if keyword in ("anyOf", "oneOf"):
        return problem(label, _no_form(error, label), "union_error")
    if keyword not in _KEYWORDS:
        return problem(label, f"{label}: {truncate(error.message, _SHOWN)}", keyword)
    template, code = _KEYWORDS[keyword]
    value = truncate(str(error.validator_value), _SHOWN)
    message = template.format(label=label, value=value)
    return problem(label, message, code, _named(code, error.validator_value))


def _named(code: str, wanted: Any) -> dict[str, Any]:
    """Return the requirement of a keyword, under the name that argument models use."""
    name = VALUE_NAMES.get(code)
    if name == "expected":
        choices = wanted if isinstance(wanted, list) else [wanted]
        return {name: ", ".join(map(repr, choices))}
    return {} if name is None else {name: wanted}


def _wrong_type(label: str, wanted: Any) -> tuple[str, str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return f"{label} should be {' or '.join(names)}", _TYPE_CODES[names[0]]


def _no_form(error: ValidationError, label: str) -> str:
    if not error.context:
        return f"{label} matches more than one of the allowed forms"
    reasons = [describe(inner)["message"] for inner in error.context[:_FORMS_SHOWN]]
    return truncate(f"{label} matches none of the allowed forms: {' | '.join(reasons)}", _SHOWN)
