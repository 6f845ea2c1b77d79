"""What went wrong in a database, told without saying where it is or who we are there.

Only messages that are about the statement are repeated, and what they may know of the
address is taken out. Everything else is a sentence of our own.
"""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.core.text import clean, truncate
from app.knowledge.sources.drivers.causes import Cause
from app.knowledge.sources.drivers.protocol import ConnectionTarget

MAX_TOLD = 500


def unavailable(target: ConnectionTarget, cause: Cause) -> ToolFailed:
    """The source cannot be used at the moment; `details["cause"]` is the cause's code."""
    return ToolFailed(
        f"The data source {target.name!r} is not available: {cause.clause}",
        code="source_unavailable",
        cause=cause.code,
    )


def timed_out(timeout_s: float) -> ToolFailed:
    """The statement took too long and was stopped."""
    return ToolFailed(
        f"The query was stopped after {timeout_s:g} s; narrow it down, or request a longer timeout",
        code="query_timeout",
    )


def failed(why: str) -> ToolFailed:
    """The database refused the statement; `why` is a clause of ours."""
    return ToolFailed(f"The query failed: {why}", code="query_failed")


def told(target: ConnectionTarget, message: str) -> str:
    """A message of the database about a statement, without what it may know of the address."""
    address = target.address
    known = (
        *(target.password, address.host, address.user, address.unix_socket, address.file),
        address.tls_ca_file,
    )
    text = " ".join(clean(message).split())
    for secret in sorted(filter(None, known), key=len, reverse=True):
        text = text.replace(secret, "…")
    return truncate(text, MAX_TOLD)
