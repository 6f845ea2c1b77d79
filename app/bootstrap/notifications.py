"""Composition of notifications about pending requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from app.agents.database_queries import DatabaseQueries
from app.agents.inbox import Inbox
from app.agents.notices import NoticeFeed
from app.agents.sessions import Sessions
from app.api.approvers import may_decide
from app.api.auth import Authenticator
from app.api.capability_answers import AnswerSources, CapabilityAnswers
from app.bootstrap.container import Runtime
from app.channels.notifications.chat_answers import ChatLinks
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.kinds import TransportKind, TransportServices
from app.channels.notifications.listeners import ChannelListeners
from app.channels.notifications.notifications import Notifications, assemble_notifications
from app.channels.notifications.offsets import StoredOffset
from app.channels.notifications.push_kind import WEB_PUSH, web_push_kind
from app.channels.notifications.subscriptions import EVERYBODY, NotificationSubscription
from app.channels.notifications.transports import TRANSPORTS
from app.channels.notifications.web_push import VapidKeys
from app.config.push import PushSettings
from app.core.background import background
from app.domain.web import WEB_ACCESS
from app.governance.approvals.rights import ApprovalRights
from app.knowledge.outbound_requests.setup import outbound_request_keys
from app.knowledge.sources.encryption import KeyFile
from app.operations.web.protocol import WebAccess

BROWSERS = "web-push"
"""ID of the channel for browsers."""


async def open_notifications(runtime: Runtime, push_keys: VapidKeys) -> Notifications:
    """Return the notifications, with the stored channels and subscriptions.

    Browsers need nothing to be configured: the channel for them exists from the start.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    settings, redactor = runtime.settings, runtime.redactor

    def web() -> WebAccess:
        return runtime.services.require(WEB_ACCESS, WebAccess)  # type: ignore[type-abstract]

    notifications = assemble_notifications(
        runtime.db,
        runtime.clock,
        audit=runtime.audit,
        changes=runtime.changes,
        keys=outbound_request_keys(settings, redactor),
        redactor=redactor,
        metrics=runtime.metrics,
        services=TransportServices(web, runtime.clock, partial(StoredOffset, runtime.db)),
        kinds={**TRANSPORTS, WEB_PUSH: _web_push(settings.push, push_keys)},
        public_url=settings.public_url or f"{settings.client_url}{settings.root_path}",
        days=settings.notifications.history_days,
    )
    await notifications.load()
    await notifications.channels.ensure(BROWSERS, name="browsers", kind=WEB_PUSH)
    return notifications


def _web_push(settings: PushSettings, keys: VapidKeys) -> TransportKind:
    return web_push_kind(keys, contact=settings.contact, trusted=settings.trusted_origins)


class SubscriptionRights:
    """Who may receive what: a subscription has the current rights of the token that made it."""

    def __init__(self, authenticator: Authenticator, approvals: ApprovalRights) -> None:
        self._authenticator = authenticator
        self._approvals = approvals

    async def may_receive(
        self, subscription: NotificationSubscription, facts: RequestFacts
    ) -> bool:
        """Return whether a subscription may receive a request."""
        principal = await self._authenticator.rights_of(
            subscription.created_by, subscription.token_id
        )
        if principal is None:
            return False
        if subscription.user_id is not None:
            is_theirs = principal.user_id == subscription.user_id
            return is_theirs and may_decide(self._approvals, principal, facts.kind, facts.case)
        if not principal.is_admin:
            return False
        if subscription.group_id is not None:
            now = self._approvals.clock.time()
            return facts.terms is not None and subscription.group_id in (
                facts.terms.active_groups(now)
            )
        return subscription.audience == EVERYBODY


@dataclass(frozen=True, slots=True)
class NotificationParts:
    """Pending requests, and how people are notified of them."""

    inbox: Inbox
    notifications: Notifications
    notices: NoticeFeed
    authenticator: Authenticator
    listeners: ChannelListeners
    chat_links: ChatLinks
    push_keys: VapidKeys


@asynccontextmanager
async def notifying(
    runtime: Runtime, sessions: Sessions, authenticator: Authenticator, reading: DatabaseQueries
) -> AsyncIterator[NotificationParts]:
    """Notify of pending requests, including those of a previous process, during the block.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    settings = runtime.settings
    push_keys = VapidKeys(KeyFile(settings.data_dir / "keys" / "web-push.key").read)
    notifications = await open_notifications(runtime, push_keys)
    chat_links = ChatLinks(runtime.db, runtime.clock, runtime.audit)
    inbox = Inbox(runtime.db, runtime.clock, sessions.open_now)
    runtime.confirmations.watch(inbox)
    runtime.waiting.watch(inbox)
    rights = SubscriptionRights(authenticator, runtime.approvals)
    notifications.sender.entitle(rights.may_receive)
    notices = NoticeFeed(
        inbox,
        runtime.db,
        notifications.outbox,
        notifications.subscriptions.list_all,
        rights.may_receive,
    )
    sources = AnswerSources(
        *(runtime.db, reading, runtime.approvals, runtime.confirmations, authenticator),
        *(notifications, chat_links),
    )
    listeners = ChannelListeners(
        notifications.channels,
        notifications.transports.services,
        partial(CapabilityAnswers, sources),
    )
    async with notifications.delivering(), notices.following(), background(listeners.run()):
        yield NotificationParts(
            *(inbox, notifications, notices, authenticator, listeners, chat_links, push_keys)
        )
