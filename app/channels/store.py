"""Channels as administrators store them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson

from app.channels.config import ChannelConfig, ChannelKind, read_config
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, NotFound
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions, increment, number_of

T = TypeVar("T")

SUBJECT = "channels"

_COLUMNS = "id, name, kind, config, enabled, version, created_at, updated_at"
_READ = f"SELECT {_COLUMNS} FROM channels ORDER BY id"  # noqa: S608 - a constant
_ADD = f"INSERT INTO channels ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - a constant
_CHANGE = (
    "UPDATE channels SET name = ?, config = ?, enabled = ?, version = ?, updated_at = ?"
    " WHERE id = ?"
)
_REMOVE = "DELETE FROM channels WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Channel:
    """A stored channel."""

    id: str
    name: str
    kind: ChannelKind
    config: ChannelConfig
    enabled: bool
    version: int
    created_at: str
    updated_at: str

    def shown(self) -> dict[str, Any]:
        """For the audit."""
        return {
            "name": self.name,
            "kind": self.kind,
            "config": self.config.to_json(),
            "enabled": self.enabled,
        }


class ChannelStore:
    """Makes, changes and forgets channels. What is stored is kept in memory."""

    def __init__(
        self, db: DatabaseWriter, clock: Clock, audit: AuditLog, changes: ConfigVersions
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._changes = changes
        self._channels: dict[str, Channel] = {}
        changes.watch(SUBJECT, self.load)

    async def load(self) -> None:
        """Read what is stored, also when another process has changed it."""
        self._use(*await self._db.transact(_read))

    def find(self, channel_id: str) -> Channel | None:
        """The channel of that id."""
        return self._channels.get(channel_id)

    def get(self, channel_id: str) -> Channel:
        """One channel.

        Raises:
            NotFound: there is none.
        """
        found = self._channels.get(channel_id)
        if found is None:
            raise NotFound(f"Channel {channel_id!r} not found", channel_id=channel_id)
        return found

    def list_all(self) -> list[Channel]:
        """Every channel, by id."""
        return list(self._channels.values())

    async def create(
        self,
        channel_id: str,
        *,
        name: str,
        kind: ChannelKind,
        config: Any,
        enabled: bool,
        actor: str,
    ) -> Channel:
        """Store a new channel.

        Raises:
            InvalidInput: the configuration does not fit.
            AlreadyExists: there is a channel of that id.
        """
        moment = isoformat(self._clock.now())
        made = Channel(channel_id, name, kind, read_config(config), enabled, 1, moment, moment)

        def add(transaction: Transaction) -> None:
            if channel_id in _read(transaction)[0]:
                raise AlreadyExists(f"Channel {channel_id!r} already exists", field="id")
            transaction.execute(_ADD, _row(made))
            self._note(transaction, channel_id, None, made.shown(), actor)

        await self._write(add)
        return made

    async def change(
        self,
        channel_id: str,
        fields: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
    ) -> Channel:
        """Give a channel another `name`, `config` or `enabled`; the next call sees it.

        Raises:
            NotFound: there is none.
            InvalidInput: the configuration does not fit.
            VersionMismatch: it has changed since `expected` was read.
        """
        new = dict(fields)
        if "config" in new:
            new["config"] = read_config(new["config"])
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = _current(transaction, channel_id, expected)
            after = replace(before, **new)
            if after == before:
                return
            after = replace(after, version=before.version + 1, updated_at=moment)
            row = _row(after)
            transaction.execute(_CHANGE, (row[1], *row[3:6], moment, channel_id))
            old, now = before.shown(), after.shown()
            self._note(
                transaction,
                channel_id,
                {key: old[key] for key in new},
                {key: now[key] for key in new},
                actor,
            )

        await self._write(write)
        return self.get(channel_id)

    async def remove(self, channel_id: str, *, actor: str, expected: int | None = None) -> Channel:
        """Forget a channel and return what it was; its finished tasks stay.

        Raises:
            NotFound, VersionMismatch: as `change`.
        """

        def remove(transaction: Transaction) -> Channel:
            before = _current(transaction, channel_id, expected)
            transaction.execute(_REMOVE, (channel_id,))
            self._note(transaction, channel_id, before.shown(), None, actor)
            return before

        return await self._write(remove)

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        def run(transaction: Transaction) -> tuple[T, dict[str, Channel], int]:
            return work(transaction), *_read(transaction)

        answer, channels, number = await self._db.transact(run)
        self._use(channels, number)
        return answer

    def _note(
        self,
        transaction: Transaction,
        channel_id: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        actor: str,
    ) -> None:
        increment(transaction, SUBJECT)
        self._audit.within(
            transaction,
            "governance.channel",
            actor=actor,
            subject=channel_id,
            before=before,
            after=after,
        )

    def _use(self, channels: dict[str, Channel], number: int) -> None:
        self._changes.saw(SUBJECT, number)
        self._channels = channels


def _current(transaction: Transaction, channel_id: str, expected: int | None) -> Channel:
    stored = _read(transaction)[0].get(channel_id)
    if stored is None:
        raise NotFound(f"Channel {channel_id!r} not found", channel_id=channel_id)
    check_version(expected, stored.version)
    return stored


def _read(transaction: Transaction) -> tuple[dict[str, Channel], int]:
    rows = {row[0]: _of_row(row) for row in transaction.fetch(_READ)}
    return rows, number_of(transaction, SUBJECT)


def _of_row(row: Sequence[Any]) -> Channel:
    id_, name, kind, config, enabled, *rest = row
    return Channel(id_, name, kind, read_config(orjson.loads(config)), bool(enabled), *rest)


def _row(channel: Channel) -> tuple[Any, ...]:
    config = orjson.dumps(channel.config.to_json()).decode()
    return (
        *(channel.id, channel.name, channel.kind, config, int(channel.enabled)),
        *(channel.version, channel.created_at, channel.updated_at),
    )
