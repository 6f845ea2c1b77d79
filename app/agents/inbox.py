"""Confirmations and questions of all sessions that wait for a person, as one feed.

Items come from the services that wait. A change is sent once everything written before it is on
disk, so that nobody is asked about a call that a crash would forget.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.core.clock import Clock, stamp
from app.core.ids import new_id
from app.core.text import truncate
from app.db.writer import DatabaseWriter
from app.domain.owners import Owned, SessionOwner
from app.execution.wait_watcher import WaitChange, WaitKind
from app.governance.approvals.approver import ApprovalCase, ApprovalTerms

MAX_TITLE = 300
RING = 1000
"""Changes that a client can catch up with; after more, it gets the whole list."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """Confirmation or question that waits.

    Attributes:
        owner: None if its session is not open, which a waiting call keeps it.
        title: the call or the question in one line, without secrets.
        risk: `low`, `medium` or `high`; None for a question.
        terms: what an approval policy requires of a confirmation; None without a policy.
    """

    kind: WaitKind
    id: str
    session_id: str
    owner: SessionOwner | None
    opened_at: str
    title: str
    tool_name: str
    run_id: str | None = None
    agent_id: str | None = None
    tool_call_id: str | None = None
    risk: str | None = None
    expires_at: str | None = None
    terms: ApprovalTerms | None = None

    @property
    def case(self) -> ApprovalCase:
        """Return what decides who may answer."""
        return ApprovalCase(self.owner, self.terms)


@dataclass(frozen=True, slots=True)
class InboxChange:
    """An item came, changed or went.

    Attributes:
        cursor: names the change; a client that has seen it asks for those after it.
        reason: why the item changed; None for one that came or went.
        occurrence: number of the change, of those with this reason.
        outcome: how the wait ended; None while it lasts.
        by: user who answered.
    """

    cursor: str
    at: str
    item: InboxItem
    outcome: str | None = None
    by: str | None = None
    reason: WaitChange | None = None
    occurrence: int = 1

    @property
    def state(self) -> Literal["opened", "changed", "closed"]:
        if self.reason is not None:
            return "changed"
        return "opened" if self.outcome is None else "closed"


Listener = Callable[[InboxChange], None]


class Inbox:
    """Waiting items of this process. A `WaitWatcher`.

    Args:
        session_of: finds an open session.
    """

    def __init__(
        self, db: DatabaseWriter, clock: Clock, session_of: Callable[[str], Owned | None]
    ) -> None:
        self.listeners: set[Listener] = set()
        self.cursor = new_id("ibx")
        self._db = db
        self._clock = clock
        self._session_of = session_of
        self._items: dict[str, InboxItem] = {}
        self._shown: dict[str, InboxItem] = {}
        self._pending: deque[tuple[int, InboxChange]] = deque()
        self._ring: deque[InboxChange] = deque(maxlen=RING)
        self._start: str | None = self.cursor
        db.subscribe(self._committed)

    @property
    def items(self) -> tuple[InboxItem, ...]:
        """Items that have been sent and not closed, oldest first."""
        return tuple(self._shown.values())

    def after(self, cursor: str) -> list[InboxChange] | None:
        """Return the changes after one that a client has seen; None if it is not known any more."""
        if cursor == self.cursor:
            return []
        changes = list(self._ring)
        places = [place for place, change in enumerate(changes) if change.cursor == cursor]
        if not places and cursor != self._start:
            return None
        return changes[places[0] + 1 :] if places else changes

    def opened(
        self, kind: WaitKind, item_id: str, session_id: str, request: Mapping[str, Any]
    ) -> None:
        """See the Protocol."""
        risk = request.get("risk") or {}
        item = InboxItem(
            kind=kind,
            id=item_id,
            session_id=session_id,
            owner=SessionOwner.of(self._session_of(session_id)),
            opened_at=stamp(self._clock.time()),
            title=_line(request.get("title") or request.get("question") or request["tool_name"]),
            tool_name=request["tool_name"],
            run_id=request.get("run_id"),
            agent_id=request.get("agent_id"),
            tool_call_id=request.get("tool_call_id"),
            risk=risk.get("level"),
            expires_at=request.get("expires_at"),
            terms=ApprovalTerms.from_dict(request.get("approval")),
        )
        self._items[item_id] = item
        self._announce(InboxChange(new_id("ibx"), item.opened_at, item))

    def changed(
        self, item_id: str, change: WaitChange, request: Mapping[str, Any], occurrence: int
    ) -> None:
        """See the Protocol."""
        item = self._items.get(item_id)
        if item is not None:
            terms = ApprovalTerms.from_dict(request.get("approval"))
            item = self._items[item_id] = replace(item, terms=terms)
            moment = stamp(self._clock.time())
            self._announce(
                InboxChange(new_id("ibx"), moment, item, reason=change, occurrence=occurrence)
            )

    def closed(self, item_id: str, outcome: str, by: str | None = None) -> None:
        """See the Protocol."""
        item = self._items.pop(item_id, None)
        if item is not None:
            moment = stamp(self._clock.time())
            self._announce(InboxChange(new_id("ibx"), moment, item, outcome, by))

    def _announce(self, change: InboxChange) -> None:
        appended, committed = self._db.watermarks
        self._pending.append((appended, change))
        self._committed(committed)

    def _committed(self, mark: int) -> None:
        while self._pending and self._pending[0][0] <= mark:
            self._publish(self._pending.popleft()[1])

    def _publish(self, change: InboxChange) -> None:
        if change.state == "closed":
            self._shown.pop(change.item.id, None)
        else:
            self._shown[change.item.id] = change.item
        self.cursor = change.cursor
        if len(self._ring) == RING:
            # Nobody who has only seen the start can catch up any more.
            self._start = None
        self._ring.append(change)
        for listener in tuple(self.listeners):
            listener(change)


def _line(text: str) -> str:
    """Return a text as one line of bounded length."""
    return truncate(" ".join(text.split()), MAX_TITLE, "…")
