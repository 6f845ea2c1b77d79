"""Headers of requests that somebody else writes: what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_HEADERS = 32
MAX_VALUE_CHARS = 4096
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
# Said about a connection or a message, and so by who sends it, never by who writes its contents.
_OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "expect", "host"),
        *("keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "via"),
    }
)
# Who has a secret stores it in a named trigger; who claims another origin lies.
_NOT_FOR_MODELS = frozenset({"authorization", "cookie", "cookie2", "forwarded", "x-real-ip"})


def header_problem(headers: Mapping[str, str], *, stored: bool) -> str | None:
    """Why these headers cannot be sent; None when they can.

    Args:
        stored: an operator has written them, so that they may hold secrets.
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
