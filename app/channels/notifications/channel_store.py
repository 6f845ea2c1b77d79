"""Channels of notifications stored by administrators, with encrypted secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import orjson
from pydantic import ValidationError

from app.channels.notifications.kinds import KindSecrets, KindSettings, TransportKind
from app.channels.notifications.transport import ContentLevel
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, ConfigurationError, InvalidInput, NotFound
from app.core.field_problems import field_problem
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions

log = logging.getLogger(__name__)

SUBJECT = "notification_channels"
_SECRETS = "secrets"
Buttons = Literal["none", "low", "medium"]
BUTTONS: tuple[Buttons, ...] = get_args(Buttons)


class SecretBox(Protocol):
    """Encrypts secrets, bound to their row and field. A `KeyRing`."""

    def seal(self, text: str, *, row: str, field: str) -> str: ...
    def open(self, sealed: str, *, row: str, field: str) -> str: ...


@dataclass(frozen=True, slots=True)
class NotificationChannel:
    """Stored channel. Times are RFC 3339 in UTC.

    Attributes:
        settings: fields of its kind, which are not secret.
        sealed: its encrypted secrets.
        secret_names: which secrets are set.
        origin: where it sends to, without secrets.
        content: how much of a request its messages say.
        buttons: highest risk of requests that its messages let people answer in place.
    """

    id: str
    name: str = ""
    kind: str = ""
    settings: Mapping[str, Any] | None = None
    sealed: str = ""
    secret_names: tuple[str, ...] = ()
    origin: str = ""
    content: ContentLevel = "summary"
    buttons: Buttons = "none"
    enabled: bool = True
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {
            "name": self.name,
            "kind": self.kind,
            "settings": dict(self.settings or {}),
            "secret_names": list(self.secret_names),
            "origin": self.origin,
            "content": self.content,
            "buttons": self.buttons,
            "enabled": self.enabled,
        }

    def offers_answers(self, risk: str | None) -> bool:
        """Return whether requests of a risk may be answered in its messages."""
        levels = {"none": 0, "low": 1, "medium": 2}
        return risk in levels and 0 < levels[risk] <= levels[self.buttons]


class NotificationChannels:
    """Creates, changes and deletes channels, cached in memory in encrypted form.

    Args:
        kinds: kinds of channels, by name.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        keys: SecretBox,
        redactor: Redactor,
        kinds: Mapping[str, TransportKind],
    ) -> None:
        self.kinds = kinds
        self._clock = clock
        self._keys = keys
        self._redactor = redactor
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)
        self._on_change: list[Callable[[], None]] = []

    def on_change(self, call: Callable[[], None]) -> None:
        """Call `call` whenever channels may have changed."""
        self._on_change.append(call)

    async def load(self) -> None:
        """Load the stored channels, including changes by other processes."""
        await self._table.load()

    def find(self, channel_id: str) -> NotificationChannel | None:
        """Return the channel with the ID."""
        return self._table.items.get(channel_id)

    def get(self, channel_id: str) -> NotificationChannel:
        """Return a channel.

        Raises:
            NotFound: the channel does not exist.
        """
        return self._table.get(channel_id)

    def list_all(self) -> list[NotificationChannel]:
        """Return every channel, by name."""
        return list(self._table.items.values())

    def kind_of(self, channel: NotificationChannel) -> TransportKind:
        """Return the kind of a channel.

        Raises:
            ConfigurationError: this version has no such kind.
        """
        kind = self.kinds.get(channel.kind)
        if kind is None:
            raise ConfigurationError(
                f"The channel {channel.name!r} has the unknown kind {channel.kind!r}: delete it"
            )
        return kind

    def opened(self, channel: NotificationChannel) -> tuple[KindSettings, KindSecrets]:
        """Return the settings and the decrypted secrets, for sending.

        Raises:
            ConfigurationError: the secrets cannot be decrypted, or the kind is unknown.
        """
        kind = self.kind_of(channel)
        try:
            text = self._keys.open(channel.sealed, row=channel.id, field=_SECRETS)
        except ConfigurationError:
            raise ConfigurationError(
                f"Cannot decrypt the secrets of the channel {channel.name!r}: restore the key of "
                "notifications, or set its secrets again"
            ) from None
        try:
            return (
                kind.settings.model_validate(channel.settings or {}),
                kind.secrets.model_validate(orjson.loads(text)),
            )
        except ValidationError:
            raise ConfigurationError(
                f"The stored fields of the channel {channel.name!r} are invalid: set them again"
            ) from None

    async def ensure(self, channel_id: str, *, name: str, kind: str) -> None:
        """Store a channel without settings and secrets, unless one with its ID or name exists."""
        moment = isoformat(self._clock.now())
        blank = NotificationChannel(channel_id, name, kind, created_at=moment, updated_at=moment)
        known = self._table.items
        if channel_id in known or any(item.name == name for item in known.values()):
            return

        def add(transaction: Transaction) -> None:
            stored = self._table.stored(transaction)
            if channel_id in stored or any(item.name == name for item in stored.values()):
                return
            made = self._checked(transaction, blank, {})
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, "system", None, made.shown(), outcome="created")

        await self._table.write(add)

    async def create(
        self, fields: Mapping[str, Any], secrets: Mapping[str, str], *, actor: str
    ) -> NotificationChannel:
        """Store a new channel; `fields` contains at least its name and kind.

        Raises:
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another channel has the name.
            ConfigurationError: the keys are invalid.
        """
        moment = isoformat(self._clock.now())
        blank = NotificationChannel(new_id("nch"), created_at=moment, updated_at=moment)

        def add(transaction: Transaction) -> str:
            made = self._checked(transaction, replace(blank, **fields), secrets)
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, actor, None, made.shown(), outcome="created")
            return made.id

        return self.get(await self._table.write(add))

    async def change(
        self,
        channel_id: str,
        fields: Mapping[str, Any],
        secrets: Mapping[str, str] | None,
        *,
        actor: str,
        expected: int | None = None,
    ) -> NotificationChannel:
        """Change a channel from the next message.

        Args:
            secrets: all secrets of the channel; None keeps them.

        Raises:
            NotFound: the channel does not exist.
            InvalidInput: a field is invalid, or the secrets must be set again.
            AlreadyExists: another channel has the name.
            VersionMismatch: it has changed since `expected` was read.
            ConfigurationError: the keys are invalid, or the secrets cannot be decrypted.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> str:
            before = self._table.current(transaction, channel_id, expected)
            after = self._checked(transaction, replace(before, **fields), secrets)
            if secrets is None and after.origin != before.origin and before.secret_names:
                # A user without access to the stored secrets must not redirect them either.
                raise InvalidInput(
                    "The stored secrets are not sent to another host: set them again",
                    field="secrets",
                )
            if after == before:
                return channel_id
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            new = after.shown() | {"secrets_set": secrets is not None}
            self._table.note(transaction, channel_id, actor, before.shown(), new, outcome="changed")
            return channel_id

        return self.get(await self._table.write(write))

    async def remove(
        self, channel_id: str, *, actor: str, expected: int | None = None
    ) -> NotificationChannel:
        """Delete a channel with its secrets and subscriptions, and return it.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """

        def remove(transaction: Transaction) -> NotificationChannel:
            before = self._table.current(transaction, channel_id, expected)
            transaction.execute(
                "DELETE FROM notification_subscriptions WHERE channel_id = ?", (channel_id,)
            )
            self._table.delete(transaction, channel_id)
            self._table.note(
                transaction, channel_id, actor, before.shown(), None, outcome="removed"
            )
            return before

        return await self._table.write(remove)

    def _checked(
        self,
        transaction: Transaction,
        channel: NotificationChannel,
        secrets: Mapping[str, str] | None,
    ) -> NotificationChannel:
        """Return the channel with its stored form of settings and secrets."""
        kind = self.kinds.get(channel.kind)
        if kind is None:
            raise InvalidInput(f"kind must be one of {', '.join(self.kinds)}", field="kind")
        if channel.buttons != "none" and not kind.answers:
            raise InvalidInput(
                f"Messages of the kind {channel.kind!r} cannot offer answers: use none",
                field="buttons",
            )
        if self._table.is_name_taken(transaction, channel):
            raise AlreadyExists(f"Channel {channel.name!r} already exists", field="name")
        settings = _parsed(kind.settings, channel.settings or {}, "settings")
        stored = replace(channel, settings=settings.model_dump(mode="json"))
        if secrets is None:
            _, opened = self.opened(stored)
            return replace(stored, origin=kind.origin(settings, opened))
        given = _parsed(kind.secrets, secrets, "secrets")
        # In the transaction, and bound to the row: it cannot be decrypted in another row.
        sealed = self._keys.seal(
            orjson.dumps(given.given()).decode(), row=channel.id, field=_SECRETS
        )
        return replace(
            stored,
            sealed=sealed,
            secret_names=tuple(sorted(given.given())),
            origin=kind.origin(settings, given),
        )

    def _loaded(self, _: Mapping[str, NotificationChannel]) -> None:
        self._redactor.learn(SUBJECT, self._masked())
        for call in self._on_change:
            call()

    def _masked(self) -> list[str]:
        found: list[str] = []
        for channel in self._table.items.values():
            try:
                _, secrets = self.opened(channel)
            except ConfigurationError as error:
                log.warning("%s", error.message)
            else:
                found += secrets.masked()
        return found


def _parsed(model: type[Any], given: Mapping[str, Any], part: str) -> Any:
    """Return a kind's settings or secrets.

    Raises:
        InvalidInput: they are invalid; the message lists every problem, without values.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems = [
            field_problem(".".join([part, *map(str, item["loc"])]), item)
            for item in error.errors(include_url=False, include_input=False)
        ]
        message = "; ".join(f"{item['path']}: {item['message']}" for item in problems[:5])
        raise InvalidInput(message, errors=problems[:50]) from None


def _of_row(row: Sequence[Any]) -> NotificationChannel:
    id_, name, kind, settings, sealed, names, origin, content, buttons, on, *rest = row
    return NotificationChannel(
        *(id_, name, kind, orjson.loads(settings), sealed, tuple(orjson.loads(names)), origin),
        *(content, buttons, bool(on), *rest),
    )


def _row(channel: NotificationChannel) -> tuple[Any, ...]:
    return (
        *(channel.id, channel.name, channel.kind),
        orjson.dumps(dict(channel.settings or {})).decode(),
        channel.sealed,
        orjson.dumps(list(channel.secret_names)).decode(),
        *(channel.origin, channel.content, channel.buttons, int(channel.enabled)),
        *(channel.version, channel.created_at, channel.updated_at),
    )


def _missing(channel_id: str) -> NotFound:
    return NotFound(
        f"Notification channel {channel_id!r} not found", notification_channel_id=channel_id
    )


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.notification_channel",
    columns=(
        *("id", "name", "kind", "settings", "secrets", "secret_names", "origin", "content"),
        *("buttons", "enabled", "version", "created_at", "updated_at"),
    ),
    order="name",
    item=_of_row,
    row=_row,
    missing=_missing,
)
