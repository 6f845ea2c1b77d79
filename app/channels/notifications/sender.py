"""Background delivery of the outbox."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from app.channels.notifications.channel_store import NotificationChannel, NotificationChannels
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.messages import MessageWriter
from app.channels.notifications.outbox import (
    GIVE_UP_S,
    DeliveryState,
    NotificationOutbox,
    OutboxMessage,
)
from app.channels.notifications.subscriptions import (
    NotificationSubscription,
    NotificationSubscriptions,
)
from app.channels.notifications.transport import (
    DeliveryFailed,
    DeliveryUncertain,
    Notification,
    Transport,
)
from app.core.clock import Clock, isoformat
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ConfigurationError, NotFound, StorageUnavailable
from app.core.metrics import Metrics

log = logging.getLogger(__name__)

T = TypeVar("T")

PER_CHANNEL = 4
SEND_S = 30.0
CLOSE_S = 5.0
RECORD_AGAIN_S = 1.0
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 600.0
# Of a whole channel, when its provider asks for a wait.
LONGEST_PAUSE_S = 600.0
# Maximum wait: clocks are changed and machines sleep.
_LOOK_S = 30.0
_SHORTEST_WAIT_S = 0.05

Entitlement = Callable[[NotificationSubscription, RequestFacts], Awaitable[bool]]
"""Whether a subscription may receive what a request says, by the rights of this moment."""
TransportOf = Callable[[NotificationChannel], Transport]


@dataclass(frozen=True, slots=True)
class ChannelTrouble:
    """Failing channel. `since` is the first failure in a row, RFC 3339."""

    channel_id: str
    name: str
    error: str
    since: str


class _Dropped(Exception):
    """The message must not be sent any more; the text says why."""


class NotificationSender:
    """Sends due messages, some per channel at a time, those of one request in order.

    Args:
        transport_of: returns the transport of a channel; raises ConfigurationError.
    """

    def __init__(
        self,
        outbox: NotificationOutbox,
        channels: NotificationChannels,
        subscriptions: NotificationSubscriptions,
        writer: MessageWriter,
        clock: Clock,
        metrics: Metrics,
        transport_of: TransportOf,
    ) -> None:
        self._outbox = outbox
        self._channels = channels
        self._subscriptions = subscriptions
        self._writer = writer
        self._clock = clock
        self._metrics = metrics
        self._transport_of = transport_of
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: Counter[str] = Counter()
        self._paused: dict[str, float] = {}
        self._troubles: dict[str, ChannelTrouble] = {}
        self._entitled: Entitlement = _nobody
        self._random = random.Random()  # noqa: S311 - spreads retries
        outbox.on_append(self.wake)

    @property
    def troubles(self) -> tuple[ChannelTrouble, ...]:
        """Channels whose last attempt failed, of those that still exist."""
        known = {channel.id for channel in self._channels.list_all() if channel.enabled}
        return tuple(item for key, item in self._troubles.items() if key in known)

    @property
    def in_delivery(self) -> int:
        """Return how many messages are with their providers."""
        return len(self._tasks)

    async def delivered(self) -> None:
        """Wait until what is with providers now has been answered."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def entitle(self, entitled: Entitlement) -> None:
        """Set who may receive what; until then, nothing is sent."""
        self._entitled = entitled

    def wake(self) -> None:
        """Look for due messages now."""
        self._news.set()

    async def run(self) -> None:
        """Send until cancelled, then wait briefly for what is being sent."""
        try:
            await self._outbox.ready.wait()
            while True:
                self._news.clear()
                wait = _LOOK_S
                with ErrorBoundary() as held:
                    wait = await self.send_due()
                self._report(held.error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._news.wait()
        finally:
            await self._close()

    async def send_due(self) -> float:
        """Start the delivery of due messages; return the seconds until the next look.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        free = {key: PER_CHANNEL - count for key, count in self._sending.items()}
        free |= dict.fromkeys(self._pauses(), 0)
        turn = await self._outbox.claim(free, default=PER_CHANNEL)
        for message in turn.claimed:
            self._sending[message.channel_id] += 1
            task = asyncio.get_running_loop().create_task(self._deliver(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        now = self._clock.time()
        age = 0.0 if turn.oldest is None else max(0.0, now - turn.oldest)
        self._metrics.gauges["notifications_pending"] = turn.pending
        self._metrics.gauges["notification_pending_age_seconds"] = age
        times = [*self._paused.values(), *([] if turn.next_due is None else [turn.next_due])]
        return min(_LOOK_S, max(_SHORTEST_WAIT_S, min(times) - now)) if times else _LOOK_S

    def _pauses(self) -> list[str]:
        """Return the channels whose provider has asked for a wait."""
        now = self._clock.time()
        self._paused = {key: until for key, until in self._paused.items() if until > now}
        return list(self._paused)

    async def _close(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.delivered()
        for task in tuple(self._tasks):
            task.cancel()

    async def _deliver(self, message: OutboxMessage) -> None:
        try:
            with ErrorBoundary() as held:
                await self._attempt(message)
            if held.error is not None:
                self._report(held.error)
                due = self._clock.time() + self._delay(message.attempts, None)
                await self._recorded(
                    partial(self._outbox.later, message, due, "internal error", uncertain=True)
                )
        finally:
            self._sending[message.channel_id] -= 1
            self.wake()

    async def _recorded(self, work: Callable[[], Awaitable[T]]) -> T:
        """Store an outcome, as soon as the database takes it: without it, the message is stuck."""
        while True:
            try:
                return await work()
            except StorageUnavailable as error:
                log.warning("cannot record a notification: %s", error)
                await asyncio.sleep(RECORD_AGAIN_S)

    async def _attempt(self, message: OutboxMessage) -> None:
        channel = self._channels.find(message.channel_id)
        try:
            reference = await self._sent(message, channel)
        except _Dropped as why:
            await self._end(message, channel, "dropped", str(why))
        except DeliveryFailed as error:
            await self._failed(message, channel, error)
        else:
            await self._recorded(partial(self._outbox.sent, message, reference))
            self._count(channel, "sent")
            self._troubles.pop(message.channel_id, None)

    async def _sent(
        self, message: OutboxMessage, channel: NotificationChannel | None
    ) -> str | None:
        """Send a message; return the provider's reference.

        Raises:
            _Dropped: its channel or subscription has ended, or its user has lost the right.
            DeliveryFailed: the provider did not take it.
        """
        subscription = self._subscriptions.find(message.subscription_id)
        if channel is None or subscription is None:
            raise _Dropped("subscription removed")
        if not channel.enabled:
            raise _Dropped("channel disabled")
        if not await self._entitled(subscription, message.facts):
            raise _Dropped("no right to decide the request")
        try:
            transport = self._transport_of(channel)
            address = self._subscriptions.address(subscription)
        except ConfigurationError as error:
            raise DeliveryFailed(error.message) from None
        written = await self._writer.write(message, channel, subscription)
        with ErrorBoundary() as held:
            return await self._transmit(transport, address, message, written)
        if isinstance(held.error, DeliveryFailed):
            raise held.error
        if not isinstance(held.error, TimeoutError):
            # Without its text, which may contain the address.
            log.error("a channel of kind %s failed: %s", channel.kind, type(held.error).__name__)
        raise DeliveryUncertain(f"no answer ({type(held.error).__name__})")

    async def _transmit(
        self, transport: Transport, address: str, message: OutboxMessage, written: Notification
    ) -> str | None:
        async with asyncio.timeout(SEND_S):
            if not message.closes:
                return await transport.send(address, written)
            await transport.update(address, message.reference, written)
            return message.reference

    async def _failed(
        self, message: OutboxMessage, channel: NotificationChannel | None, error: DeliveryFailed
    ) -> None:
        reason = self._writer.mask(error.reason)
        self._note_trouble(message.channel_id, channel, reason)
        if error.retry_after_s is not None:
            wait = min(error.retry_after_s, LONGEST_PAUSE_S)
            self._paused[message.channel_id] = self._clock.time() + wait
        if error.gone:
            await self._remove(message.subscription_id, reason)
        if error.permanent or error.gone:
            await self._end(message, channel, "failed", reason)
            return
        due = self._clock.time() + self._delay(message.attempts, error.retry_after_s)
        uncertain = isinstance(error, DeliveryUncertain)
        if due >= message.until:
            await self._end(message, channel, "failed", reason)
        elif await self._recorded(
            partial(self._outbox.later, message, due, reason, uncertain=uncertain)
        ):
            self._count(channel, "retried")
        else:
            self._count(channel, "dropped")

    def _delay(self, attempts: int, asked: float | None) -> float:
        """Return the seconds until the next attempt."""
        longest: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(attempts - 1, 20))
        waits = longest * self._random.uniform(0.5, 1.0)
        return waits if asked is None else max(waits, min(asked, GIVE_UP_S))

    async def _remove(self, subscription_id: str, reason: str) -> None:
        """Delete the subscription of an address that does not exist any more."""
        with suppress(NotFound):
            await self._subscriptions.remove(subscription_id, actor="system", outcome="gone")
        await self._outbox.drop_of(subscription_id, reason)

    async def _end(
        self,
        message: OutboxMessage,
        channel: NotificationChannel | None,
        state: DeliveryState,
        reason: str,
    ) -> None:
        await self._recorded(partial(self._outbox.ended, message, state, reason))
        self._count(channel, state)

    def _note_trouble(
        self, channel_id: str, channel: NotificationChannel | None, reason: str
    ) -> None:
        known = self._troubles.get(channel_id)
        since = isoformat(self._clock.now()) if known is None else known.since
        name = channel_id if channel is None else channel.name
        self._troubles[channel_id] = ChannelTrouble(channel_id, name, reason, since)

    def _count(self, channel: NotificationChannel | None, state: str) -> None:
        known = channel is not None and channel.kind in self._channels.kinds
        self._metrics.notification(channel.kind if channel and known else "unknown", state)

    def _report(self, error: BaseException | None) -> None:
        if isinstance(error, StorageUnavailable):
            log.warning("cannot send notifications: %s", error)
        elif error is not None:
            log.error("cannot send notifications", exc_info=error)


async def _nobody(subscription: NotificationSubscription, facts: RequestFacts) -> bool:
    del subscription, facts
    return False
