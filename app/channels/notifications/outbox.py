"""Rows of the outbox: one per state of a request, subscription and message that it updates.

A row is `pending` until it is due, `sending` from before its request until the provider's answer,
then `sent`, `failed` or `dropped`. `sending` is committed before the request, so after a crash an
attempt whose outcome is unknown is repeated under the same ID.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.subscriptions import NotificationSubscription
from app.channels.notifications.transport import NotificationEvent
from app.core.clock import Clock, isoformat
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction

GIVE_UP_S = 24 * 3600.0
MAX_ERROR = 300
DeliveryState = Literal["sent", "failed", "dropped"]

_ADD = (
    "INSERT INTO notifications (id, item_id, event, occurrence, subscription_id, channel_id,"
    " closes, facts, state, uncertain, attempts, due_at, until, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 0, 0, ?, ?, ?) ON CONFLICT DO NOTHING"
)
# Nobody is notified of a request twice, whichever way they came to be an approver.
_IS_KNOWN = (
    "SELECT 1 FROM notifications WHERE item_id = ? AND subscription_id = ? AND closes = '' LIMIT 1"
)
_OF_ITEM = (
    "SELECT id, subscription_id, channel_id, state, uncertain FROM notifications"
    " WHERE item_id = ? AND closes = '' ORDER BY seq"
)
_DROP_PENDING = (
    "UPDATE notifications SET state = 'dropped', error = 'request ended', finished_at = ?"
    " WHERE id = ? AND state = 'pending'"
)
# Of one request and subscription, a message follows the end of the previous one.
_DUE = (
    "SELECT id, item_id, event, subscription_id, channel_id, closes, facts, uncertain, attempts,"
    " until, (SELECT reference FROM notifications AS c WHERE c.id = n.closes)"
    " FROM notifications AS n WHERE state = 'pending' AND due_at <= ? AND NOT EXISTS"
    " (SELECT 1 FROM notifications AS e WHERE e.item_id = n.item_id"
    " AND e.subscription_id = n.subscription_id AND e.seq < n.seq"
    " AND e.state IN ('pending', 'sending')) AND channel_id NOT IN ({}) ORDER BY seq LIMIT ?"
)
MAX_CLAIMED = 500
_CLAIM = (
    "UPDATE notifications SET state = 'sending', attempts = attempts + 1"
    " WHERE id = ? AND state = 'pending'"
)
_SENT = (
    "UPDATE notifications SET state = 'sent', reference = ?, error = NULL, finished_at = ?"
    " WHERE id = ? AND state = 'sending'"
)
_END = (
    "UPDATE notifications SET state = ?, error = ?, finished_at = ?"
    " WHERE id = ? AND state = 'sending'"
)
_LATER = (
    "UPDATE notifications SET state = 'pending', due_at = ?, error = ?,"
    " uncertain = MAX(uncertain, ?) WHERE id = ? AND state = 'sending'"
)
# A message that did not arrive needs no update.
_DROP_CLOSING = (
    "UPDATE notifications SET state = 'dropped', error = 'nothing was sent', finished_at = ?"
    " WHERE closes = ? AND state = 'pending'"
)
_RECOVER = (
    "UPDATE notifications SET state = 'pending', uncertain = 1, due_at = ? WHERE state = 'sending'"
)
_DROP_OF_SUBSCRIPTION = (
    "UPDATE notifications SET state = 'dropped', error = ?, finished_at = ?"
    " WHERE subscription_id = ? AND state = 'pending'"
)
_UNFINISHED = (
    "SELECT item_id, MAX(facts) FROM notifications AS n WHERE closes = '' AND NOT EXISTS"
    " (SELECT 1 FROM notifications AS c WHERE c.closes = n.id)"
    " AND state NOT IN ('dropped', 'failed') GROUP BY item_id"
)
_IS_CLOSED = "SELECT 1 FROM notifications WHERE closes = ? LIMIT 1"
_NEXT_DUE = "SELECT MIN(due_at) FROM notifications WHERE state = 'pending' AND due_at > ?"
_PENDING = "SELECT COUNT(*), MIN(until) FROM notifications WHERE state IN ('pending', 'sending')"
_BACKLOG = (
    "SELECT channel_id, COUNT(*), MIN(created_at) FROM notifications WHERE state = 'pending'"
    " GROUP BY channel_id"
)
_TRIM = (
    "DELETE FROM notifications WHERE seq IN (SELECT seq FROM notifications"
    " WHERE finished_at < ? AND finished_at IS NOT NULL ORDER BY finished_at LIMIT ?)"
)


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """Claimed row.

    Attributes:
        closes: ID of the message that it updates, or empty.
        reference: provider's reference of that message.
        is_uncertain: an earlier attempt may have arrived.
        attempts: including the claimed one.
        until: Unix time after which it is given up.
    """

    id: str
    item_id: str
    event: NotificationEvent
    subscription_id: str
    channel_id: str
    closes: str
    facts: RequestFacts
    is_uncertain: bool
    attempts: int
    until: float
    reference: str | None


@dataclass(frozen=True, slots=True)
class OutboxTurn:
    """Claimed messages, and what is left.

    Attributes:
        next_due: Unix time of the next attempt, or None.
        pending: messages that are not finished.
        oldest: Unix time since which the oldest of them exists, or None.
    """

    claimed: tuple[OutboxMessage, ...]
    next_due: float | None
    pending: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class ChannelBacklog:
    """Messages of one channel that wait to be sent; `oldest` is RFC 3339."""

    count: int
    oldest: str


class NotificationOutbox:
    """Stores what is to be sent. Every change is one transaction.

    Attributes:
        ready: set once messages of ended requests have been closed after a start; sending before
            would announce a request that has ended.
    """

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self.ready = asyncio.Event()
        self._db = db
        self._clock = clock
        self._on_append: Callable[[], None] = lambda: None

    def on_append(self, call: Callable[[], None]) -> None:
        """Call `call` after messages were stored."""
        self._on_append = call

    async def append(
        self,
        facts: RequestFacts,
        event: NotificationEvent,
        subscriptions: Iterable[NotificationSubscription],
        *,
        occurrence: int = 1,
    ) -> None:
        """Store a message per subscription; one that is stored already stays as it is.

        `opened` and `escalated` go to subscriptions that have no message of the request yet.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        moment = self._clock.now()
        now, text = moment.timestamp(), facts.to_json()
        rows = [
            (
                *(new_id("ntf"), facts.item_id, event, occurrence, item.id, item.channel_id, ""),
                *(text, now, now + GIVE_UP_S, isoformat(moment)),
            )
            for item in subscriptions
        ]
        if not rows:
            return

        is_first = event in ("opened", "escalated")

        def add(transaction: Transaction) -> None:
            for row in rows:
                if is_first and transaction.fetch(_IS_KNOWN, (facts.item_id, row[4])):
                    continue
                transaction.execute(_ADD, row)

        await self._db.transact(add)
        self._on_append()

    async def close(self, facts: RequestFacts) -> None:
        """Drop what was not sent about an ended request, and store an update of each message
        that was, or may have been.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        moment = self._clock.now()
        now, stamped, text = moment.timestamp(), isoformat(moment), facts.to_json()

        def close(transaction: Transaction) -> None:
            for row in transaction.fetch(_OF_ITEM, (facts.item_id,)):
                message_id, subscription_id, channel_id, state, uncertain = row
                transaction.execute(_DROP_PENDING, (stamped, message_id))
                if state in ("sent", "sending") or uncertain:
                    transaction.execute(
                        _ADD,
                        (
                            *(new_id("ntf"), facts.item_id, "closed", 1),
                            *(subscription_id, channel_id, message_id),
                            *(text, now, now + GIVE_UP_S, stamped),
                        ),
                    )

        await self._db.transact(close)
        self._on_append()

    async def recover(self) -> None:
        """Make attempts of an ended process due again: whether they arrived is unknown.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        now = self._clock.time()
        await self._db.transact(lambda work: work.execute(_RECOVER, (now,)))

    async def open_items(self) -> dict[str, RequestFacts]:
        """Return the requests with messages that no update has followed, by ID.

        Raises:
            StorageUnavailable: the database is not readable.
        """
        rows = await self._db.transact(lambda work: work.fetch(_UNFINISHED))
        return {item_id: RequestFacts.from_json(facts) for item_id, facts in rows}

    async def claim(self, free: Mapping[str, int], *, default: int) -> OutboxTurn:
        """Claim due messages.

        Args:
            free: how many more messages each channel may send; others `default`.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        now = self._clock.time()
        # A channel without room must not hide the messages of others.
        full = [channel_id for channel_id, room in free.items() if room <= 0]
        due_now = _DUE.format(", ".join("?" for _ in full))

        def claim(transaction: Transaction) -> OutboxTurn:
            left = dict(free)
            claimed = []
            for row in transaction.fetch(due_now, (now, *full, MAX_CLAIMED)):
                channel_id = row[4]
                room = left.get(channel_id, default)
                if room > 0 and transaction.execute(_CLAIM, (row[0],)):
                    left[channel_id] = room - 1
                    claimed.append(_message(row))
            ((due,),) = transaction.fetch(_NEXT_DUE, (now,))
            ((count, oldest),) = transaction.fetch(_PENDING)
            since = None if oldest is None else oldest - GIVE_UP_S
            return OutboxTurn(tuple(claimed), due, count, since)

        return await self._db.transact(claim)

    async def sent(self, message: OutboxMessage, reference: str | None) -> None:
        """Record that the provider took a message.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        row = (reference, isoformat(self._clock.now()), message.id)
        await self._db.transact(lambda work: work.execute(_SENT, row))

    async def ended(self, message: OutboxMessage, state: DeliveryState, reason: str) -> None:
        """Record that a message will not be sent.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        moment = isoformat(self._clock.now())

        def end(transaction: Transaction) -> None:
            transaction.execute(_END, (state, reason[:MAX_ERROR], moment, message.id))
            if not message.is_uncertain:
                transaction.execute(_DROP_CLOSING, (moment, message.id))

        await self._db.transact(end)

    async def later(
        self, message: OutboxMessage, due_at: float, reason: str, *, uncertain: bool
    ) -> bool:
        """Store when a message is tried again; False if its request has ended, which drops it.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        moment = isoformat(self._clock.now())

        def delay(transaction: Transaction) -> bool:
            if not message.closes and transaction.fetch(_IS_CLOSED, (message.id,)):
                transaction.execute(_END, ("dropped", "request ended", moment, message.id))
                if not (uncertain or message.is_uncertain):
                    transaction.execute(_DROP_CLOSING, (moment, message.id))
                return False
            transaction.execute(_LATER, (due_at, reason[:MAX_ERROR], int(uncertain), message.id))
            return True

        return await self._db.transact(delay)

    async def drop_of(self, subscription_id: str, reason: str) -> None:
        """Drop everything that waits for a subscription.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        row = (reason, isoformat(self._clock.now()), subscription_id)
        await self._db.transact(lambda work: work.execute(_DROP_OF_SUBSCRIPTION, row))

    async def backlog(self) -> dict[str, ChannelBacklog]:
        """Return the pending messages by channel.

        Raises:
            StorageUnavailable: the database is not readable.
        """
        rows = await self._db.transact(lambda work: work.fetch(_BACKLOG))
        return {channel_id: ChannelBacklog(count, oldest) for channel_id, count, oldest in rows}

    def trim(self, transaction: Transaction, until: str, rows: int) -> int:
        """Delete finished messages older than a time; return their number."""
        return transaction.execute(_TRIM, (until, rows))


def _message(row: Sequence[Any]) -> OutboxMessage:
    id_, item_id, event, subscription_id, channel_id, closes, facts, *rest = row
    uncertain, attempts, until, reference = rest
    return OutboxMessage(
        *(id_, item_id, event, subscription_id, channel_id, closes),
        *(RequestFacts.from_json(facts), bool(uncertain), attempts + 1, until, reference),
    )
