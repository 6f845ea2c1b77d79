"""Answers that arrive in chats, given with the rights of the linked user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from app.agents.database_queries import DatabaseQueries
from app.api.approvers import approver_of, visible_confirmation
from app.api.auth import Authenticator
from app.channels.notifications.capabilities import AnswerCapability, CapabilityUnknown
from app.channels.notifications.chat_answers import ChatKind, ChatLink, ChatLinks
from app.channels.notifications.notifications import Notifications
from app.channels.notifications.subscriptions import SubscriptionInput
from app.core.errors import AlreadyExists, Forbidden, TollgateError
from app.db.writer import DatabaseWriter
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.confirmation.service import ConfirmationService
from app.governance.approvals.rights import ApprovalRights

if TYPE_CHECKING:
    from app.agents.session_queries import SessionQueries
    from app.db.tables import ConfirmationRow

NOT_LINKED = (
    "This account is not linked to a user of Tollgate."
    " Create a code in the inbox, and send it here."
)
_SAID = {
    "approved": "Approved.",
    "declined": "Declined.",
    "recorded": "Your approval is recorded. Further people must approve.",
}


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """What answers are checked against and given to. A `ConfirmationSources`."""

    db: DatabaseWriter
    reading: DatabaseQueries
    approvals: ApprovalRights
    confirmations: ConfirmationService
    authenticator: Authenticator
    notifications: Notifications
    links: ChatLinks

    @property
    def archive(self) -> SessionQueries:
        """Queries over stored sessions, opened by the first answer."""
        return self.reading.archive


class CapabilityAnswers:
    """`ChatAnswers` of one channel. Every failure is a text for the sender."""

    def __init__(self, sources: AnswerSources, channel_id: str) -> None:
        self._sources = sources
        self._channel_id = channel_id

    async def answer(self, kind: ChatKind, sender: str, capability: str) -> str:
        """See the Protocol. A foreign capability is left to its user."""
        sources = self._sources
        link = await sources.links.find(kind, sender)
        if link is None:
            return NOT_LINKED
        try:
            issued = await sources.notifications.capabilities.peek(capability)
            if issued.user_id != link.user_id:
                raise CapabilityUnknown("This button was issued to another user")
            return _SAID[await self._given(link, issued, capability)]
        except TollgateError as error:
            return error.message

    async def link(self, kind: ChatKind, sender: str, code: str) -> str:
        """See the Protocol. The account is also notified from now on."""
        sources = self._sources
        link = await sources.links.redeem(kind, sender, code)
        if link is None:
            return "The code is unknown or has expired. Create another one in the inbox."
        wanted = SubscriptionInput(
            self._channel_id, f"user:{link.user_id}", sender, "linked account"
        )
        try:
            await sources.notifications.subscriptions.create(
                wanted, actor=link.user_id, token_id=link.token_id
            )
        except AlreadyExists:
            pass  # The same address with the same token: it is notified already.
        except TollgateError as error:
            return f"Linked to {link.user_id}, without notifications: {error.message}"
        return f"Linked to {link.user_id}. Pending requests are sent here."

    async def _given(self, link: ChatLink, issued: AnswerCapability, capability: str) -> str:
        """Give the answer that a capability stands for, and return its outcome.

        Raises:
            TollgateError: the user may not give it, or it is late, used or for another call.
        """
        sources = self._sources
        principal = await sources.authenticator.rights_of(link.user_id, link.token_id)
        if principal is None:
            raise Forbidden("Your access has ended. Sign in, and link this account again")
        row, owner = await visible_confirmation(sources, principal, issued.confirmation_id)
        self._check_channel(issued, row)
        taken = await sources.notifications.capabilities.take(capability)
        outcome = await sources.confirmations.answer(
            taken.confirmation_id,
            ConfirmationReply(taken.option_id, taken.digest),
            approver_of(principal),
            session_id=row.session_id,
            owner=owner,
        )
        await sources.db.flush()
        return outcome

    def _check_channel(self, issued: AnswerCapability, row: ConfirmationRow) -> None:
        """Check that the channel still offers answers to such a request.

        Raises:
            Forbidden: it does not, or the subscription has ended.
        """
        notifications = self._sources.notifications
        channel = notifications.channels.find(self._channel_id)
        subscription = notifications.subscriptions.find(issued.subscription_id)
        risk = orjson.loads(row.request)["risk"]["level"]
        is_offered = channel is not None and channel.enabled and channel.offers_answers(risk)
        if not is_offered or subscription is None or subscription.channel_id != self._channel_id:
            raise Forbidden("Requests cannot be answered here any more; open the request instead")
