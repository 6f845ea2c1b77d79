"""Messages from claimed rows: texts, link and answers in place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from app.channels.notifications.capabilities import AnswerCapabilities, AnswerCapability
from app.channels.notifications.channel_store import NotificationChannel
from app.channels.notifications.content import ContentWriter
from app.channels.notifications.outbox import OutboxMessage
from app.channels.notifications.subscriptions import NotificationSubscription
from app.channels.notifications.transport import Notification, NotificationAction
from app.core.clock import Clock
from app.db.writer import DatabaseWriter, Transaction

# Of confirmations without an end.
CAPABILITY_S = 24 * 3600.0
# The options of `app.execution.confirmation.options` that answer one call only.
_ANSWERS = (("Approve once", "allow", "approve_once"), ("Decline", "deny", "decline"))


class MessageWriter:
    """Writes the messages of one installation.

    Args:
        public_url: address of the service for people, without a slash at its end.
        mask: masks secrets in a text.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        capabilities: AnswerCapabilities,
        *,
        public_url: str,
        mask: Callable[[str], str],
    ) -> None:
        self.mask = mask
        self._db = db
        self._clock = clock
        self._capabilities = capabilities
        self._public_url = public_url
        self._content = ContentWriter(mask)

    async def write(
        self,
        message: OutboxMessage,
        channel: NotificationChannel,
        subscription: NotificationSubscription,
    ) -> Notification:
        """Return the message of a row; issues the capabilities of its answers.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        facts, level = message.facts, channel.content
        says_more = level != "none"
        offers = (
            not message.closes
            and facts.kind == "confirmation"
            and facts.digest is not None
            and subscription.user_id is not None
            and channel.offers_answers(facts.risk)
        )
        return Notification(
            id=message.id,
            event=message.event,
            kind=facts.kind,
            item_id=facts.item_id,
            subject=self._content.subject(facts, message.event, level),
            body=self._content.body(facts, message.event, level),
            link=self.link(facts.item_id),
            risk=facts.risk if says_more else None,
            expires_at=facts.expires_at if says_more else None,
            outcome=facts.outcome if says_more or facts.outcome is None else "ended",
            actions=await self._actions(message, subscription) if offers else (),
        )

    def test(self, message_id: str) -> Notification:
        """Return a message that tests a channel."""
        return Notification(
            id=message_id,
            event="opened",
            kind="question",
            item_id=message_id,
            subject="Test message from Tollgate",
            body="An administrator tests this channel. Nothing waits for an answer.",
            link=f"{self._public_url}/",
            risk=None,
            expires_at=None,
            outcome=None,
        )

    def link(self, item_id: str) -> str:
        """Return the page of a request. Fetching it shows the request and changes nothing."""
        return f"{self._public_url}/approvals/{item_id}"

    async def _actions(
        self, message: OutboxMessage, subscription: NotificationSubscription
    ) -> tuple[NotificationAction, ...]:
        facts = message.facts
        user_id = subscription.user_id
        assert facts.digest is not None
        assert user_id is not None
        ends = self._clock.time() + CAPABILITY_S
        if facts.expires_at is not None:
            ends = datetime.fromisoformat(facts.expires_at).timestamp()
        bound = [
            AnswerCapability(
                *(facts.item_id, facts.digest, user_id, subscription.token_id),
                *(option_id, subscription.id),
            )
            for _, _, option_id in _ANSWERS
        ]

        def mint(transaction: Transaction) -> list[str]:
            return [self._capabilities.mint_within(transaction, item, ends) for item in bound]

        minted = await self._db.transact(mint)
        return tuple(
            NotificationAction(label, "allow" if kind == "allow" else "deny", capability)
            for (label, kind, _), capability in zip(_ANSWERS, minted, strict=True)
        )
