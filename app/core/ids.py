"""Identifiers: short, URL-safe, never reused after a restart.

Use `new_id` for long-lived objects and for IDs that must not be guessable. It begins with the time,
so that new keys of a table follow each other: a commit then writes one page of each index and not
one for each row. `call_id` is for the
hot path: one random prefix per process and a counter, 15 times faster than a UUID (0.16 µs
instead of 2.5 µs).
"""

from __future__ import annotations

import itertools
import os
import secrets
from time import time

_PROCESS = secrets.token_hex(6)
_counter = itertools.count(1)


# Random digits in stock, because a request to the operating system takes 10 µs. A forked process
# must not use its parent's stock.
_stock: list[str] = []
_DIGITS, _AT_ONCE = 16, 64
os.register_at_fork(after_in_child=_stock.clear)


def new_id(prefix: str) -> str:
    """Return `<prefix>_<24 hex digits>`: the Unix time in seconds, then 64 random bits."""
    try:
        return f"{prefix}_{int(time()):08x}{_stock.pop()}"
    except IndexError:
        fresh = secrets.token_hex(_DIGITS // 2 * _AT_ONCE)
        _stock.extend(fresh[at : at + _DIGITS] for at in range(0, len(fresh), _DIGITS))
        return new_id(prefix)


def call_id(prefix: str) -> str:
    """Return an ID that is unique across processes and restarts, but predictable."""
    return f"{prefix}_{_PROCESS}{next(_counter):06x}"
