"""Queue of messages that wait for the current run."""

from __future__ import annotations

from collections import deque
from itertools import count

from app.agents.run import Queued
from app.core.errors import Busy

MAX_QUEUED = 100


class Queues:
    """One queue per session with waiting messages."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Queued]] = {}
        self._places = count(1)

    def place(self) -> int:
        """Return the position of the next message."""
        return next(self._places)

    def require_room(self, session_id: str, active_id: str) -> None:
        """Check for room; do not await between this and `add`.

        Raises:
            Busy: too many messages wait for the run `active_id`.
        """
        if len(self._queues.get(session_id, ())) >= MAX_QUEUED:
            raise Busy(f"{MAX_QUEUED} messages are waiting in this session", run_id=active_id)

    def add(self, item: Queued) -> None:
        """Append a message to its session's queue."""
        self._queues.setdefault(item.run.session.id, deque()).append(item)

    def take(self, session_id: str) -> Queued | None:
        """Remove and return the next message."""
        queue = self._queues.get(session_id)
        item = queue.popleft() if queue else None
        if not queue:
            self._queues.pop(session_id, None)
        return item

    def remove(self, session_id: str, run_id: str) -> Queued | None:
        """Remove and return the message of a run; None if it is not queued."""
        queue = self._queues.get(session_id, deque())
        item = next((item for item in queue if item.run.id == run_id), None)
        if item is not None:
            queue.remove(item)
        return item

    def all(self) -> list[Queued]:
        """Return all waiting messages, in order per session."""
        return [item for queue in self._queues.values() for item in queue]

    def clear(self) -> list[Queued]:
        """Remove and return all waiting messages."""
        items = self.all()
        self._queues.clear()
        return items
