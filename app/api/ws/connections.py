"""Open WebSocket connections of one application."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.api.ws.connection import Connection


class Connections:
    """Open connections of one application."""

    def __init__(self) -> None:
        self.open: set[Connection] = set()

    def admit(self, connection: Connection, limit: int) -> bool:
        """Add a connection; return False if its user already has `limit` of them."""
        user = connection.principal.user_id
        if sum(other.principal.user_id == user for other in self.open) >= limit:
            return False
        self.open.add(connection)
        return True

    def going_away(self, reason: str = "shutdown", reconnect_after_ms: int = 1000) -> None:
        """Announce the shutdown to every client, with staggered times to reconnect."""
        for index, connection in enumerate(self.open):
            connection.going_away(reason, reconnect_after_ms + 20 * index)
