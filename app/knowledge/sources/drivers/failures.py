"""Errors of databases, without their address and user.

Only messages about the statement are repeated, without anything related to the address. Everything
else is a sentence of ours.
"""

from __future__ import annotations

from app.core.errors import ToolFailed
from app.core.text import clean, truncate
from app.knowledge.sources.drivers.causes import Cause
from app.knowledge.sources.drivers.protocol import ConnectionTarget

MAX_SHOWN = 500


def unavailable(target: ConnectionTarget, cause: Cause) -> ToolFailed:
    """Return the error of an unavailable source; `details["cause"]` is the cause's code."""
    return ToolFailed(
        f"The data source {target.name!r} is not available: {cause.clause}",
        code="source_unavailable",
        cause=cause.code,
    )


def timed_out(timeout_s: float) -> ToolFailed:
    """Return the error of a statement stopped at its timeout."""
    return ToolFailed(
        f"The query was stopped after {timeout_s:g} s; narrow it down, or request a longer timeout",
        code="query_timeout",
    )


def failed(why: str) -> ToolFailed:
    """Return the error of a refused statement; `why` is a clause of ours."""
    return ToolFailed(f"The query failed: {why}", code="query_failed")


def without_address(target: ConnectionTarget, message: str) -> str:
    """Return the database's message about a statement, without anything about the address."""
    address = target.address
    known = (
        *(target.password, address.host, address.user, address.unix_socket, address.file),
        address.tls_ca_file,
    )
    text = " ".join(clean(message).split())
    for secret in sorted(filter(None, known), key=len, reverse=True):
        text = text.replace(secret, "…")
    return truncate(text, MAX_SHOWN)
