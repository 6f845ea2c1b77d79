"""Errors and address checks of requests to a service; imports no client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from app.core.errors import InvalidInput, TollgateError

THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


class ConnectionFailed(TollgateError):
    """The connection failed, and retrying cannot help."""

    code = "connection_failed"


class CommandRefused(TollgateError):
    """The server refused a command; `error` holds the server's error."""

    code = "command_refused"

    def __init__(self, message: str, **error: Any) -> None:
        super().__init__(message, **error)
        self.error = error


def checked_url(url: str, schemes: Sequence[str] = ("http", "https")) -> str:
    """Return `url` if a client can use it.

    Args:
        url: Address as entered by the user.
        schemes: Accepted schemes, the preferred one first.

    Raises:
        InvalidInput: The address is not valid for these schemes.
    """
    if "@" in url:
        # Not shown: what stands before it may be a password.
        raise InvalidInput(
            "Service addresses must not contain a user name: use "
            f"{schemes[0]}://host:port, and pass the token in TOLLGATE_TOKEN or with "
            "`tollgate login`",
            field="url",
        )
    parts = _parts(url)
    if parts is None or parts.scheme not in schemes or parts.query or parts.fragment:
        raise InvalidInput(
            f"Invalid service address {url!r}: use {schemes[0]}://host:port", field="url"
        )
    return url.rstrip("/")


def checked_token(token: str) -> str:
    """Return `token` if it can be sent in a header.

    Raises:
        InvalidInput: The token contains invalid characters.
    """
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput(
            "The token contains invalid characters: check that it was copied completely"
        )
    return token


def is_here(url: str) -> bool:
    """Return whether an address is a loopback address."""
    return urlsplit(url).hostname in THIS_MACHINE


def _parts(url: str) -> SplitResult | None:
    """Return the parts of an address, or None if it cannot be parsed."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        fits = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if fits else None
