"""Assembly of notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.channels.notifications.capabilities import AnswerCapabilities
from app.channels.notifications.channel_store import (
    NotificationChannel,
    NotificationChannels,
    SecretBox,
)
from app.channels.notifications.kinds import TransportKind, TransportServices
from app.channels.notifications.messages import MessageWriter
from app.channels.notifications.outbox import NotificationOutbox
from app.channels.notifications.retention import NotificationRetention
from app.channels.notifications.sender import SEND_S, NotificationSender
from app.channels.notifications.subscriptions import NotificationSubscriptions
from app.channels.notifications.transport import DeliveryFailed, Transport
from app.core.background import background
from app.core.clock import Clock
from app.core.error_boundary import ErrorBoundary
from app.core.errors import InvalidInput
from app.core.field_problems import FieldError
from app.core.ids import new_id
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True, slots=True)
class TransportCache:
    """Transports of channels; one is made again when its channel has changed."""

    channels: NotificationChannels
    services: TransportServices
    made: dict[str, tuple[int, Transport]]

    def of(self, channel: NotificationChannel) -> Transport:
        """Return the transport of a channel.

        Raises:
            ConfigurationError: its secrets cannot be decrypted, or its kind is unknown.
        """
        known = self.made.get(channel.id)
        if known is not None and known[0] == channel.version:
            return known[1]
        settings, secrets = self.channels.opened(channel)
        transport = self.channels.kind_of(channel).make(settings, secrets, self.services)
        self.made[channel.id] = (channel.version, transport)
        return transport


@dataclass(frozen=True, slots=True)
class Notifications:
    """Channels, subscriptions and the outbox of notifications about pending requests."""

    channels: NotificationChannels
    subscriptions: NotificationSubscriptions
    outbox: NotificationOutbox
    sender: NotificationSender
    capabilities: AnswerCapabilities
    retention: NotificationRetention
    writer: MessageWriter
    transports: TransportCache

    async def load(self) -> None:
        """Load the stored channels and subscriptions."""
        await self.channels.load()
        await self.subscriptions.load()

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[None]:
        """Send messages for the duration of the block."""
        async with background(self.sender.run(), self.retention.run()):
            yield

    async def test(self, channel_id: str, address: str) -> str | None:
        """Send a test message to an address; return why it failed, or None.

        Raises:
            NotFound: the channel does not exist.
            InvalidInput: the address is invalid.
            ConfigurationError: the channel cannot be used.
        """
        channel = self.channels.get(channel_id)
        try:
            checked = self.channels.kind_of(channel).address(address)
        except FieldError as error:
            raise InvalidInput(f"address {error}", field="address") from None
        transport = self.transports.of(channel)
        with ErrorBoundary() as held:
            async with asyncio.timeout(SEND_S):
                await transport.send(checked, self.writer.test(new_id("ntf")))
        if held.error is None:
            return None
        if isinstance(held.error, DeliveryFailed):
            return self.writer.mask(held.error.reason)
        return f"no answer ({type(held.error).__name__})"


def assemble_notifications(
    db: DatabaseWriter,
    clock: Clock,
    *,
    audit: AuditLog,
    changes: ConfigVersions,
    keys: SecretBox,
    redactor: Redactor,
    metrics: Metrics,
    services: TransportServices,
    kinds: Mapping[str, TransportKind],
    public_url: str,
    days: int,
) -> Notifications:
    """Bind the parts. Nothing is sent until `Notifications.delivering`.

    Args:
        public_url: address of the service for people, without a slash at its end.
        days: days to keep sent messages; 0 keeps them forever.
    """
    channels = NotificationChannels(db, clock, audit, changes, keys, redactor, kinds)
    subscriptions = NotificationSubscriptions(db, clock, audit, changes, keys, channels)
    outbox, capabilities = NotificationOutbox(db, clock), AnswerCapabilities(db, clock)
    writer = MessageWriter(db, clock, capabilities, public_url=public_url, mask=redactor.text)
    transports = TransportCache(channels, services, {})
    sender = NotificationSender(
        outbox, channels, subscriptions, writer, clock, metrics, transports.of
    )
    retention = NotificationRetention(db, clock, outbox, capabilities, days=days)
    return Notifications(
        *(channels, subscriptions, outbox, sender, capabilities, retention, writer, transports)
    )
