"""Argument types shared by several tools."""

from __future__ import annotations

import codecs
from typing import Annotated

from pydantic import AfterValidator, Field

from app.core.field_problems import FieldError

# Excluded codecs: conversions from text to text, quadratic or platform-dependent ones.
_NOT_FOR_FILES = frozenset(
    {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"}
)


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
        known = codecs.lookup(name).name.replace("-", "_") not in _NOT_FOR_FILES
    except (LookupError, UnicodeError, ValueError):
        known = False
    if not known:
        raise FieldError(
            f"unknown text encoding {name!r}; use an encoding such as 'utf-8', 'gbk', "
            "'utf-16', 'latin-1'",
            code="unknown_encoding",
        )
    return name


PathText = Annotated[str, Field(min_length=1, max_length=4096)]
"""A path as written by the caller; the operations check what it may refer to."""

Encoding = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_text_encoding)]
"""Name of a text encoding known to Python."""
