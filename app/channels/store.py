"""Channels stored by administrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.channels.config import ChannelConfig, ChannelKind, read_config
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, NotFound
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions

SUBJECT = "channels"


@dataclass(frozen=True, slots=True)
class Channel:
    """Stored channel."""

    id: str
    name: str
    kind: ChannelKind
    config: ChannelConfig
    enabled: bool
    version: int
    created_at: str
    updated_at: str

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit."""
        return {
            "name": self.name,
            "kind": self.kind,
            "config": self.config.to_json(),
            "enabled": self.enabled,
        }


class ChannelStore:
    """Creates, changes and deletes channels, and caches them in memory."""

    def __init__(
        self, db: DatabaseWriter, clock: Clock, audit: AuditLog, changes: ConfigVersions
    ) -> None:
        self._clock = clock
        self._table = ConfigTable(db, audit, changes, _SCHEMA)

    async def load(self) -> None:
        """Load the stored channels, including changes by other processes."""
        await self._table.load()

    def find(self, channel_id: str) -> Channel | None:
        """Return the channel with the ID."""
        return self._table.items.get(channel_id)

    def get(self, channel_id: str) -> Channel:
        """Return a channel.

        Raises:
            NotFound: the channel does not exist.
        """
        return self._table.get(channel_id)

    def list_all(self) -> list[Channel]:
        """Return every channel, by ID."""
        return list(self._table.items.values())

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
            InvalidInput: the configuration is invalid.
            AlreadyExists: a channel has the ID.
        """
        moment = isoformat(self._clock.now())
        made = Channel(channel_id, name, kind, read_config(config), enabled, 1, moment, moment)

        def add(transaction: Transaction) -> None:
            if channel_id in self._table.stored(transaction):
                raise AlreadyExists(f"Channel {channel_id!r} already exists", field="id")
            self._table.insert(transaction, made)
            self._table.note(transaction, channel_id, actor, None, made.shown())

        await self._table.write(add)
        return made

    async def change(
        self,
        channel_id: str,
        fields: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
    ) -> Channel:
        """Change `name`, `config` or `enabled` of a channel, from the next call.

        Raises:
            NotFound: the channel does not exist.
            InvalidInput: the configuration is invalid.
            VersionMismatch: it has changed since `expected` was read.
        """
        new = dict(fields)
        if "config" in new:
            new["config"] = read_config(new["config"])
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = self._table.current(transaction, channel_id, expected)
            after = replace(before, **new)
            if after == before:
                return
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            old, now = before.shown(), after.shown()
            self._table.note(
                transaction,
                channel_id,
                actor,
                {key: old[key] for key in new},
                {key: now[key] for key in new},
            )

        await self._table.write(write)
        return self.get(channel_id)

    async def remove(self, channel_id: str, *, actor: str, expected: int | None = None) -> Channel:
        """Delete a channel and return it; its finished tasks stay.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """
        return await self._table.remove(channel_id, actor=actor, expected=expected)


def _of_row(row: Sequence[Any]) -> Channel:
    id_, name, kind, config, enabled, *rest = row
    return Channel(id_, name, kind, read_config(orjson.loads(config)), bool(enabled), *rest)


def _row(channel: Channel) -> tuple[Any, ...]:
    config = orjson.dumps(channel.config.to_json()).decode()
    return (
        *(channel.id, channel.name, channel.kind, config, int(channel.enabled)),
        *(channel.version, channel.created_at, channel.updated_at),
    )


def _missing(channel_id: str) -> NotFound:
    return NotFound(f"Channel {channel_id!r} not found", channel_id=channel_id)


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.channel",
    columns=("id", "name", "kind", "config", "enabled", "version", "created_at", "updated_at"),
    order="id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
