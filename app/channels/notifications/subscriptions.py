"""Subscriptions: who is notified through which channel, at which address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.channels.notifications.channel_store import NotificationChannels, SecretBox
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, InvalidInput, NotFound
from app.core.field_problems import FieldError
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions

SUBJECT = "notification_subscriptions"
EVERYBODY = "all"
MAX_PER_AUDIENCE = 20
_ADDRESS = "address"
_AUDIENCE = re.compile(r"all|(user|group):\S.{0,199}")
_SHOWN_CHARS = 2


@dataclass(frozen=True, slots=True)
class NotificationSubscription:
    """Stored subscription.

    Attributes:
        audience: `user:ID`, `group:ID` or `all`.
        sealed: its encrypted address.
        hint: the displayable part of the address.
        token_id: token whose rights apply; None for the token of the settings and for anonymous
            access.
    """

    id: str
    channel_id: str
    audience: str
    label: str
    sealed: str
    hint: str
    token_id: str | None
    created_by: str
    created_at: str
    version: int = 1

    @property
    def name(self) -> str:
        """Return the ID: labels need not differ."""
        return self.id

    @property
    def user_id(self) -> str | None:
        """Return the user of a `user:` audience."""
        kind, _, name = self.audience.partition(":")
        return name if kind == "user" else None

    @property
    def group_id(self) -> str | None:
        """Return the approver group of a `group:` audience."""
        kind, _, name = self.audience.partition(":")
        return name if kind == "group" else None

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {
            "channel_id": self.channel_id,
            "audience": self.audience,
            "label": self.label,
            "address": self.hint,
            "token_id": self.token_id,
        }


@dataclass(frozen=True, slots=True)
class SubscriptionInput:
    """Subscription to store."""

    channel_id: str
    audience: str
    address: str = ""
    label: str = ""


class NotificationSubscriptions:
    """Creates and deletes subscriptions, cached in memory in encrypted form."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        keys: SecretBox,
        channels: NotificationChannels,
    ) -> None:
        self._clock = clock
        self._keys = keys
        self._channels = channels
        self._table = ConfigTable(db, audit, changes, _SCHEMA)

    async def load(self) -> None:
        """Load the stored subscriptions, including changes by other processes."""
        await self._table.load()

    def find(self, subscription_id: str) -> NotificationSubscription | None:
        """Return the subscription with the ID."""
        return self._table.items.get(subscription_id)

    def get(self, subscription_id: str, *, user_id: str | None = None) -> NotificationSubscription:
        """Return a subscription.

        Args:
            user_id: only a subscription of this user; None for those of everyone.

        Raises:
            NotFound: the subscription does not exist.
        """
        found = self._table.get(subscription_id)
        if user_id is not None and found.user_id != user_id:
            raise _missing(subscription_id)
        return found

    def list_all(self) -> list[NotificationSubscription]:
        """Return every subscription, oldest first."""
        return list(self._table.items.values())

    def of_user(self, user_id: str) -> list[NotificationSubscription]:
        """Return the subscriptions of a user, oldest first."""
        return [item for item in self.list_all() if item.user_id == user_id]

    def address(self, subscription: NotificationSubscription) -> str:
        """Return the decrypted address, for sending.

        Raises:
            ConfigurationError: it cannot be decrypted.
        """
        return self._keys.open(subscription.sealed, row=subscription.id, field=_ADDRESS)

    async def create(
        self, wanted: SubscriptionInput, *, actor: str, token_id: str | None
    ) -> NotificationSubscription:
        """Store a new subscription; it replaces one that was made with another token.

        Raises:
            NotFound: the channel does not exist.
            InvalidInput: the audience or the address is invalid, or there are too many.
            AlreadyExists: the audience has this address of the channel already, by the same token.
            ConfigurationError: the keys are invalid.
        """
        if not _AUDIENCE.fullmatch(wanted.audience):
            raise InvalidInput("audience must be user:ID, group:ID or all", field="audience")
        channel = self._channels.get(wanted.channel_id)
        kind = self._channels.kind_of(channel)
        try:
            address = kind.address(wanted.address)
        except FieldError as error:
            raise InvalidInput(f"address {error}", field="address") from None
        subscription_id = new_id("nsb")
        made = NotificationSubscription(
            id=subscription_id,
            channel_id=channel.id,
            audience=wanted.audience,
            label=wanted.label,
            sealed=self._keys.seal(address, row=subscription_id, field=_ADDRESS),
            hint=hint_of(address),
            token_id=token_id,
            created_by=actor,
            created_at=isoformat(self._clock.now()),
        )

        def add(transaction: Transaction) -> None:
            self._check_new(transaction, made, address)
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, actor, None, made.shown(), outcome="created")

        await self._table.write(add)
        return made

    async def remove(
        self,
        subscription_id: str,
        *,
        actor: str,
        user_id: str | None = None,
        outcome: str = "removed",
    ) -> NotificationSubscription:
        """Delete a subscription and return it.

        Args:
            user_id: only a subscription of this user; None for those of everyone.

        Raises:
            NotFound: the subscription does not exist.
        """
        self.get(subscription_id, user_id=user_id)
        return await self._table.remove(
            subscription_id, actor=actor, expected=None, outcome=outcome
        )

    def _check_new(
        self, transaction: Transaction, made: NotificationSubscription, address: str
    ) -> None:
        others = [
            item
            for item in self._table.stored(transaction).values()
            if item.audience == made.audience
        ]
        if len(others) >= MAX_PER_AUDIENCE:
            raise InvalidInput(
                f"{made.audience} has {MAX_PER_AUDIENCE} subscriptions; delete one first",
                field="audience",
            )
        for item in others:
            if item.channel_id == made.channel_id and self.address(item) == address:
                if item.token_id == made.token_id:
                    raise AlreadyExists("This address is subscribed already", field="address")
                # The rights of the new token replace those of one that may have ended.
                self._table.delete(transaction, item.id)
                self._table.note(
                    transaction, item.id, made.created_by, item.shown(), None, outcome="replaced"
                )


def hint_of(address: str) -> str:
    """Return what may be shown of an address: topics and endpoints are secrets in practice."""
    name, at, domain = address.partition("@")
    if at and domain and name:
        return f"{name[:_SHOWN_CHARS]}…@{domain}"
    return f"{address[:_SHOWN_CHARS]}…" if address else ""


def _of_row(row: Sequence[Any]) -> NotificationSubscription:
    return NotificationSubscription(*row)


def _row(item: NotificationSubscription) -> tuple[Any, ...]:
    return (
        *(item.id, item.channel_id, item.audience, item.label, item.sealed, item.hint),
        *(item.token_id, item.created_by, item.created_at, item.version),
    )


def _missing(subscription_id: str) -> NotFound:
    return NotFound(
        f"Subscription {subscription_id!r} not found", notification_subscription_id=subscription_id
    )


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.notification_subscription",
    columns=(
        *("id", "channel_id", "audience", "label", "address", "hint", "token_id", "created_by"),
        *("created_at", "version"),
    ),
    order="created_at, id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
