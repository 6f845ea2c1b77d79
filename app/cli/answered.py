"""What may come of asking a service; loads no client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from app.core.errors import InvalidInput, TollgateError

THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


class ConnectionFailed(TollgateError):
    """There is no connection, and there will be none without a change."""

    code = "connection_failed"


class CommandRefused(TollgateError):
    """The server refused a command; `error` is what it said."""

    code = "command_refused"

    def __init__(self, message: str, **error: Any) -> None:
        super().__init__(message, **error)
        self.error = error


def checked_url(url: str, schemes: Sequence[str] = ("http", "https")) -> str:
    """`url` when a client can use it.

    Args:
        url: what a person gave.
        schemes: those that fit, the one to propose first.

    Raises:
        InvalidInput: it is no such address of a service.
    """
    if "@" in url:
        # Not shown: what stands before it may be a password.
        raise InvalidInput(
            f"The address of a service has no user name in it: give {schemes[0]}://host:port, and"
            " the token with TOLLGATE_TOKEN or `tollgate login`",
            field="url",
        )
    parts = _parts(url)
    if parts is None or parts.scheme not in schemes or parts.query or parts.fragment:
        raise InvalidInput(
            f"{url!r} is no address of a service; give {schemes[0]}://host:port", field="url"
        )
    return url.rstrip("/")


def checked_token(token: str) -> str:
    """`token` when it can be sent.

    Raises:
        InvalidInput: it has characters that no token has.
    """
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput("The token has characters that no token has: is all of it there?")
    return token


def is_here(url: str) -> bool:
    """Whether an address is one of this machine alone."""
    return urlsplit(url).hostname in THIS_MACHINE


def _parts(url: str) -> SplitResult | None:
    """The parts of an address; None for a text that is none."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        fits = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if fits else None
