"""Problems found by a JSON Schema validator, in the messages and codes of argument models."""

from __future__ import annotations

from typing import Any

from jsonschema.exceptions import ValidationError

from app.core.field_problems import Problem, problem
from app.core.text import truncate
from app.toolkit.problem_words import VALUE_NAMES, WORDS
from app.toolkit.schema import path_label

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
