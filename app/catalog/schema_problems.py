"""What a JSON Schema validator found, in the words and codes argument models use."""

from __future__ import annotations

from typing import Any

from jsonschema.exceptions import ValidationError

from app.core.text import truncate
from app.toolkit.schema import path_label

_SHOWN = 300
_FORMS_SHOWN = 5

# Codes are those of argument models, so that a client needs one table for both.
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
    "enum": ("{label} must be one of {value}", "literal_error"),
    "const": ("{label} must be {value}", "literal_error"),
    "minimum": ("{label} must be >= {value}", "greater_than_equal"),
    "maximum": ("{label} must be <= {value}", "less_than_equal"),
    "exclusiveMinimum": ("{label} must be > {value}", "greater_than"),
    "exclusiveMaximum": ("{label} must be < {value}", "less_than"),
    "multipleOf": ("{label} must be a multiple of {value}", "multiple_of"),
    "minLength": ("{label} must be at least {value} characters long", "string_too_short"),
    "maxLength": ("{label} must be at most {value} characters long", "string_too_long"),
    "minItems": ("{label} must hold at least {value} items", "too_short"),
    "maxItems": ("{label} must hold at most {value} items", "too_long"),
    "minProperties": ("{label} must hold at least {value} keys", "too_short"),
    "maxProperties": ("{label} must hold at most {value} keys", "too_long"),
    "uniqueItems": ("{label} must not hold equal items", "unique_items"),
    "pattern": ("{label} must match {value}", "string_pattern_mismatch"),
    "required": ("missing required {label}", "missing"),
    "additionalProperties": ("unknown argument {label}", "extra_forbidden"),
}


def describe(error: ValidationError) -> dict[str, str]:
    """`{path, message, code}` of one finding, path like `a.b[0]`."""
    label = truncate(path_label(tuple(error.absolute_path)), _SHOWN)
    message, code = _explain(error, label)
    return {"path": label, "message": message, "code": code}


def _explain(error: ValidationError, label: str) -> tuple[str, str]:
    keyword = str(error.validator)
    if keyword == "type":
        return _wrong_type(label, error.validator_value)
    if keyword in ("anyOf", "oneOf"):
        return _no_form(error, label), "union_error"
    if keyword in _KEYWORDS:
        template, code = _KEYWORDS[keyword]
        value = truncate(str(error.validator_value), _SHOWN)
        return template.format(label=label, value=value), code
    return f"{label}: {truncate(error.message, _SHOWN)}", keyword


def _wrong_type(label: str, wanted: Any) -> tuple[str, str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return f"{label} should be {' or '.join(names)}", _TYPE_CODES[names[0]]


def _no_form(error: ValidationError, label: str) -> str:
    if not error.context:
        return f"{label} fits more than one of the allowed forms"
    reasons = [describe(inner)["message"] for inner in error.context[:_FORMS_SHOWN]]
    return truncate(f"{label} fits none of the allowed forms: {' | '.join(reasons)}", _SHOWN)
