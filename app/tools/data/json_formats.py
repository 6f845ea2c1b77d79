"""Formats of JSON Schema that the library does not check."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

_DATE_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,12})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_TIME = re.compile(r"\d{2}:\d{2}:\d{2}(\.\d{1,12})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION = re.compile(
    r"P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?)", re.ASCII
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_NOT_IN_URI = re.compile(r"[^\x21-\x7e]|[<>\"{}|\\^`]|%(?![0-9A-Fa-f]{2})")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_MAX_HOST = 253
_REGEX_BYTES = 1 << 18


def _is_date_time(text: str) -> bool:
    return bool(_DATE_TIME.fullmatch(text)) and _can_be_read(text)


def _is_time(text: str) -> bool:
    return bool(_TIME.fullmatch(text)) and _can_be_read(f"2000-01-01T{text}")


def _can_be_read(text: str) -> bool:
    # A leap second is a valid time that Python does not support.
    plain = re.sub(r":60(?=[.Zz+-])", ":59", text)
    try:
        datetime.fromisoformat(re.sub(r"(\.\d{1,6})\d*", r"\1", plain.upper()))
    except ValueError:
        return False
    return True


def _is_uri_reference(text: str) -> bool:
    try:
        urlsplit(text)
    except ValueError:
        return False
    return not _NOT_IN_URI.search(text)


def _is_uri(text: str) -> bool:
    return bool(_SCHEME.match(text)) and _is_uri_reference(text)


def _is_hostname(text: str) -> bool:
    return 0 < len(text) <= _MAX_HOST and all(map(_LABEL.fullmatch, text.split(".")))


def _is_pointer(text: str) -> bool:
    return (not text or text.startswith("/")) and not _BAD_ESCAPE.search(text)


def schema_options() -> Any:
    """Return the RE2 options for the expressions of a schema, with little memory for each."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _REGEX_BYTES
    return options


def _is_regex(text: str) -> bool:
    """Return whether RE2 accepts the text, as for `pattern`."""
    import re2

    try:
        re2.compile(text, schema_options())
    except (re2.error, UnicodeEncodeError):
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _is_date_time,
    "time": _is_time,
    "duration": lambda text: bool(_DURATION.fullmatch(text)),
    "uri": _is_uri,
    "uri-reference": _is_uri_reference,
    "hostname": _is_hostname,
    "json-pointer": _is_pointer,
    "regex": _is_regex,
}
"""Format → check of a text."""
