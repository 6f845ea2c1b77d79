"""What may come of asking a service; loads no client."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from app.core.errors import InvalidInput, TollgateError


class ConnectionFailed(TollgateError):
    """There is no connection, and there will be none without a change."""

    code = "connection_failed"


class CommandRefused(TollgateError):
    """The server refused a command; `error` is what it said."""

    code = "command_refused"

    def __init__(self, message: str, **error: Any) -> None:
        super().__init__(message, **error)
        self.error = error


def checked_url(url: str) -> str:
    """`url` when a client can use it.

    Raises:
        InvalidInput: it is no http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"{url!r} is no address of a service; give http://host:port", field="url"
        )
    return url.rstrip("/")
