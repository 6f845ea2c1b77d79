"""Messages for invalid arguments, the same for every tool and schema form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

TYPES = {
    "string_type": "string",
    "int_type": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "list_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "none_required": "null",
}
"""JSON types by the code of an argument that has another one."""

VALUE_NAMES = {
    "literal_error": "expected",
    "greater_than_equal": "ge",
    "less_than_equal": "le",
    "greater_than": "gt",
    "less_than": "lt",
    "multiple_of": "multiple_of",
    "string_too_short": "min_length",
    "string_too_long": "max_length",
    "too_short": "min_length",
    "too_long": "max_length",
    "string_pattern_mismatch": "pattern",
}
"""Which value of a problem its words name."""

WORDS = {
    "literal_error": "{label} must be one of {value}",
    "greater_than_equal": "{label} must be >= {value}",
    "less_than_equal": "{label} must be <= {value}",
    "greater_than": "{label} must be > {value}",
    "less_than": "{label} must be < {value}",
    "multiple_of": "{label} must be a multiple of {value}",
    "string_too_short": "{label} must be at least {value} characters long",
    "string_too_long": "{label} must be at most {value} characters long",
    "too_short": "{label} must have at least {value} items",
    "too_long": "{label} must have at most {value} items",
    "string_pattern_mismatch": "{label} must match {value}",
    "missing": "missing required {label}",
    "extra_forbidden": "unknown argument {label}",
}


def problem_words(code: str, label: str, values: Mapping[str, Any]) -> str | None:
    """The sentence about the argument `label`; None for a code that has words of its own."""
    if code in TYPES:
        return f"{label} should be {TYPES[code]}"
    template = WORDS.get(code)
    if template is None:
        return None
    value = values.get(VALUE_NAMES.get(code, ""), "")
    if code == "literal_error" and isinstance(value, str):
        value = f"[{value.replace(' or ', ', ')}]"
    return template.format(label=label, value=value)


def with_guess(message: str, name: str, known: Iterable[str]) -> str:
    """`message` about an unknown argument, with the one that may be meant."""
    close = get_close_matches(name[:80], list(known)[:200], n=1, cutoff=0.75)
    return f"{message}; did you mean {close[0]}?" if close else message
