"""Interface of a kind of channel: what it delivers, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

NotificationEvent = Literal["opened", "reminder", "escalated", "closed"]
ContentLevel = Literal["none", "summary", "full"]


@dataclass(frozen=True, slots=True)
class NotificationAction:
    """Answer that the message offers in place.

    Attributes:
        capability: random single-use ID of at most 43 characters; it says nothing about the
            request.
    """

    label: str
    kind: Literal["allow", "deny"]
    capability: str


@dataclass(frozen=True, slots=True)
class Notification:
    """One state of one pending request, for one subscription.

    Attributes:
        id: stays the same over retries of this state; transports send it as the provider's
            idempotency key.
        item_id: stays the same over all states; transports use it as tag or thread.
        subject: one line, by the content level, with secrets masked.
        body: several lines, by the content level; may be empty.
        link: page of the request.
        expires_at: RFC 3339.
        outcome: how the request ended; None while it is pending.
    """

    id: str
    event: NotificationEvent
    kind: Literal["confirmation", "question"]
    item_id: str
    subject: str
    body: str
    link: str
    risk: str | None
    expires_at: str | None
    outcome: str | None
    actions: tuple[NotificationAction, ...] = ()


class DeliveryFailed(Exception):
    """The provider did not take a message.

    Attributes:
        reason: for administrators; without secrets.
        permanent: no retry helps.
        gone: the address does not exist any more.
        retry_after_s: seconds that the provider asks to wait.
    """

    def __init__(
        self,
        reason: str,
        *,
        permanent: bool = False,
        gone: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        self.gone = gone
        self.retry_after_s = retry_after_s


class DeliveryUncertain(DeliveryFailed):
    """The provider may have taken the message: the connection ended before it answered."""


class Transport(Protocol):
    """Delivers messages through one channel."""

    async def send(self, address: str, message: Notification) -> str | None:
        """Deliver a message; return the provider's reference for `update`, or None.

        Args:
            address: address of the subscription; empty where the channel has one address.

        Raises:
            DeliveryFailed: the provider did not take it.
        """

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        """Edit or withdraw an earlier message because the request has ended or changed.

        Args:
            reference: what `send` returned; None if it returned None or its answer was lost.

        Raises:
            DeliveryFailed: the provider did not take it.
        """
