"""Single-use tickets for browsers, which cannot send a header with a WebSocket."""

from __future__ import annotations

import secrets
import time

from app.api.principal import Principal
from app.core.errors import RateLimited, Unauthenticated

TTL_S = 30.0
MAX_OPEN = 1000
MAX_PER_USER = 50


class WsTickets:
    """Open tickets of this process."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[float, Principal]] = {}

    def issue(self, principal: Principal) -> str:
        """Create a ticket that is valid for one `hello` within 30 seconds.

        Raises:
            RateLimited: this user, or all users together, have too many open tickets.
        """
        now = time.monotonic()
        self._open = {key: item for key, item in self._open.items() if item[0] > now}
        own = sum(holder.user_id == principal.user_id for _, holder in self._open.values())
        if own >= MAX_PER_USER or len(self._open) >= MAX_OPEN:
            raise RateLimited("Too many open tickets; try again later", retry_after_ms=1000)
        ticket = secrets.token_urlsafe(24)
        self._open[ticket] = (now + TTL_S, principal)
        return ticket

    def redeem(self, ticket: str) -> Principal:
        """Redeem a ticket and return its principal; a ticket is valid once.

        Raises:
            Unauthenticated: the ticket is unknown, used or too old.
        """
        expires, principal = self._open.pop(ticket, (0.0, None))
        if principal is None or expires < time.monotonic():
            raise Unauthenticated("The ticket is unknown, used, or older than 30 seconds")
        return principal
