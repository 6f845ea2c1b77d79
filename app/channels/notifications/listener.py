"""Connections on which chat services deliver answers: kept open, with a readable state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import time

from app.core.error_boundary import ErrorBoundary

log = logging.getLogger(__name__)


class ListenerFailed(Exception):
    """The connection cannot be used now.

    Attributes:
        retry_after_s: seconds to wait, as requested by the service.
    """

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class ListenerState:
    """State of a listener, for the doctor.

    Attributes:
        service: name of the chat service.
        error: why it is not connected, without secrets; None while it is, and before the first
            attempt.
        since: Unix time of the first failure in a row; None while it is connected.
    """

    service: str
    connected: bool = False
    error: str | None = None
    since: float | None = None

    def up(self) -> None:
        """Record that the service answers."""
        if self.error is not None:
            log.info("%s: answers are received again", self.service)
        self.connected, self.error, self.since = True, None, None

    def down(self, reason: str) -> None:
        """Record that it does not, and why."""
        if self.error != reason:
            log.warning("%s: answers are not received: %s", self.service, reason)
        self.connected, self.error = False, reason
        self.since = self.since or time()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between attempts, in seconds, doubled after each failure."""

    first_s: float = 1.0
    longest_s: float = 60.0

    def pause_s(self, failures: int) -> float:
        """Return the pause after a number of failures in a row."""
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 30))


async def listen(
    state: ListenerState, connection: Callable[[], Awaitable[None]], backoff: Backoff
) -> None:
    """Run `connection` again and again until cancelled; it records success with `state.up`.

    Its errors are never raised: known ones are recorded with their reason, others with their type.
    """
    failures = 0
    try:
        while True:
            with ErrorBoundary() as held:
                await connection()
            failures = 1 if state.connected else failures + 1
            pause_s = backoff.pause_s(failures)
            if isinstance(held.error, ListenerFailed):
                pause_s = max(pause_s, held.error.retry_after_s or 0.0)
                state.down(str(held.error))
            elif held.error is not None:
                # Its message may contain an address with a token.
                state.down(f"unexpected {type(held.error).__name__}")
            else:
                state.down("the connection was closed")
            await asyncio.sleep(pause_s)
    finally:
        state.connected = False
