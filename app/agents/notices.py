"""Notices about pending requests: from the inbox to the outbox of notifications."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import orjson

from app.agents.inbox import Inbox, InboxChange, InboxItem
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.outbox import NotificationOutbox
from app.channels.notifications.sender import Entitlement
from app.channels.notifications.subscriptions import NotificationSubscription
from app.channels.notifications.transport import NotificationEvent
from app.core.background import background
from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from app.core.text import truncate
from app.db.writer import DatabaseWriter, Transaction

log = logging.getLogger(__name__)

MAX_DETAILS = 4000
MAX_TARGETS = 20
AGAIN_S = 1.0
_REQUEST = "SELECT request, digest FROM confirmations WHERE id = ?"
_ENDS = (
    "SELECT status, answered_by FROM confirmations WHERE id = ?"
    " UNION ALL SELECT status, answered_by FROM questions WHERE id = ?"
)
_OPEN = frozenset({"pending", "open"})

Subscriptions = Callable[[], list[NotificationSubscription]]


class NoticeFeed:
    """Appends a message per subscription for each change of the inbox.

    Changes are taken in order. One that a crash loses is found again at the next start, by
    comparing the outbox with the inbox.

    Args:
        subscriptions: returns all subscriptions.
        entitled: whether a subscription may receive a request.
    """

    def __init__(
        self,
        inbox: Inbox,
        db: DatabaseWriter,
        outbox: NotificationOutbox,
        subscriptions: Subscriptions,
        entitled: Entitlement,
    ) -> None:
        self._inbox = inbox
        self._db = db
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._entitled = entitled
        self._changes: asyncio.Queue[InboxChange] = asyncio.Queue()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the inbox for the duration of the block."""
        self._inbox.listeners.add(self._changes.put_nowait)
        try:
            async with background(self.run()):
                yield
        finally:
            self._inbox.listeners.discard(self._changes.put_nowait)

    async def run(self) -> None:
        """Compare the outbox with the inbox, then take changes until cancelled."""
        await self._retried(self.reconcile)
        self._outbox.ready.set()
        while True:
            change = await self._changes.get()
            await self._retried(partial(self._take, change))

    async def reconcile(self) -> None:
        """Close the messages of requests that ended in an ended process, and store those of
        requests that wait.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        await self._db.flush()
        await self._outbox.recover()
        waiting = {item.id: item for item in self._inbox.items}
        for item_id, facts in (await self._outbox.open_items()).items():
            if item_id not in waiting:
                outcome, by = await self._db.transact(partial(_end, item_id))
                await self._outbox.close(facts.ended(outcome, by))
        for item in waiting.values():
            await self.notify(item, "opened")

    async def notify(
        self,
        item: InboxItem,
        event: NotificationEvent,
        audience: frozenset[str] | None = None,
        *,
        occurrence: int = 1,
    ) -> None:
        """Notify of a state of a waiting request; what was stored before is not stored again.

        Args:
            audience: only subscriptions of these, such as `group:oncall`; None for all that may
                decide the request.
            occurrence: number of a state that occurs several times, such as a second reminder.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        wanted = [
            subscription
            for subscription in self._subscriptions()
            if audience is None or subscription.audience in audience
        ]
        if not wanted:
            return
        facts = await self._db.transact(lambda work: _facts(work, item))
        entitled = [one for one in wanted if await self._entitled(one, facts)]
        # Meanwhile it may have ended: the change of its end comes later, and finds the messages.
        if event == "opened" or any(shown.id == item.id for shown in self._inbox.items):
            await self._outbox.append(facts, event, entitled, occurrence=occurrence)

    async def _take(self, change: InboxChange) -> None:
        if change.reason is not None:
            if change.reason != "vote":
                await self.notify(change.item, change.reason, occurrence=change.occurrence)
        elif change.outcome is None:
            await self.notify(change.item, "opened")
        elif self._subscriptions():
            facts = await self._db.transact(lambda work: _facts(work, change.item))
            await self._outbox.close(facts.ended(change.outcome, change.by))

    async def _retried(self, work: Callable[[], Any]) -> None:
        """Do `work` until the database takes it."""
        while True:
            with ErrorBoundary() as held:
                await work()
            if held.error is None:
                return
            if not isinstance(held.error, StorageUnavailable):
                log.error("cannot store notifications", exc_info=held.error)
                return
            await asyncio.sleep(AGAIN_S)


def _facts(transaction: Transaction, item: InboxItem) -> RequestFacts:
    """Return the facts of an item; the details are those of its stored request."""
    rows = transaction.fetch(_REQUEST, (item.id,)) if item.kind == "confirmation" else []
    request: dict[str, Any] = orjson.loads(rows[0][0]) if rows else {}
    requester = request.get("requested_by") or {}
    return RequestFacts(
        kind=item.kind,
        item_id=item.id,
        session_id=item.session_id,
        owner=item.owner,
        agent=requester.get("agent") or item.agent_id,
        tool_name=item.tool_name,
        title=item.title,
        risk=item.risk,
        expires_at=item.expires_at,
        details=details_of(request),
        digest=rows[0][1] if rows else None,
        terms=item.terms,
    )


def _end(item_id: str, transaction: Transaction) -> tuple[str, str | None]:
    """Return how a stored request ended, and who answered."""
    for status, by in transaction.fetch(_ENDS, (item_id, item_id)):
        return ("cancelled", None) if status in _OPEN else (status, by)
    return "cancelled", None


def details_of(request: Mapping[str, Any]) -> str:
    """Return the command or the arguments of a stored request, and its targets."""
    subject = request.get("subject") or {}
    lines = []
    if subject.get("type") == "command":
        lines += ["Command:", str(subject.get("command", ""))]
        lines.append(f"Folder: {subject.get('cwd', '.')}")
    elif subject:
        arguments = orjson.dumps(subject.get("args"), option=orjson.OPT_INDENT_2).decode()
        lines += ["Arguments:", truncate(arguments, MAX_DETAILS)]
    targets = [str(_target(target)) for target in request.get("targets") or ()]
    if targets:
        lines += ["Targets:", *targets[:MAX_TARGETS]]
    if len(targets) > MAX_TARGETS:
        lines.append(f"… and {len(targets) - MAX_TARGETS} more")
    return truncate("\n".join(lines), MAX_DETAILS)


def _target(target: Any) -> Any:
    return target.get("path", target) if isinstance(target, Mapping) else target
