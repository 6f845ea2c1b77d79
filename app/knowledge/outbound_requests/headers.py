"""Validation of request headers from callers and operators."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_HEADERS = 32
MAX_VALUE_CHARS = 4096
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
# Headers about the connection or the message, set by the sender.
_OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "expect", "host"),
        *("keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "via"),
    }
)
# Secrets belong into a named trigger, and claims of another origin are false.
_NOT_FOR_MODELS = frozenset({"authorization", "cookie", "cookie2", "forwarded", "x-real-ip"})


def header_problem(headers: Mapping[str, str], *, stored: bool) -> str | None:
    """Return why these headers cannot be sent, or None.

    Args:
        stored: they come from an operator, so they may contain secrets.
    """
    if len(headers) > MAX_HEADERS:
        return f"the maximum is {MAX_HEADERS}"
    if len({name.lower() for name in headers}) != len(headers):
        return "one of them is given twice"
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            return f"{name[:60]!r} is not a valid header name"
        if len(value) > MAX_VALUE_CHARS or not _VALUE.fullmatch(value):
            return f"the value of {name} must be 1 to {MAX_VALUE_CHARS} printable ASCII characters"
        low = name.lower()
        if low in _OURS or low.startswith("proxy-"):
            return f"{name} is set by the service"
        if not stored and (low in _NOT_FOR_MODELS or low.startswith("x-forwarded-")):
            return f"{name} cannot be set in a call; an operator can store it in a named trigger"
    return None
