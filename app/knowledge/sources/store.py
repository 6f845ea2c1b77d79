"""Data sources stored by administrators, with encrypted passwords."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, NotFound
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.knowledge.sources.checks import check_move, check_source
from app.knowledge.sources.encryption import KeyRing
from app.knowledge.sources.model import (
    PASSWORD,
    DatabaseAddress,
    QueryLimits,
    Source,
    tables_as_json,
    tables_of_json,
)

SUBJECT = "data_sources"

_SEAL = "UPDATE data_sources SET password = ? WHERE id = ?"
_ADDRESS = frozenset(field.name for field in fields(DatabaseAddress))


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """Change of a source.

    Attributes:
        fields: new values of fields of `Source` and of its address.
        password: new password; "" removes it, None leaves it.
    """

    fields: Mapping[str, Any]
    password: str | None = None


class SourceStore:
    """Creates, changes and deletes data sources, cached in memory in encrypted form."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        keys: KeyRing,
    ) -> None:
        self._clock = clock
        self._keys = keys
        self._watchers: list[Callable[[], None]] = []
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)

    async def load(self) -> None:
        """Load the stored sources, including changes by other processes."""
        await self._table.load()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` on every possible change of the sources."""
        self._watchers.append(watcher)

    def get(self, source_id: str) -> Source:
        """Return a source.

        Raises:
            NotFound: the source does not exist.
        """
        return self._table.get(source_id)

    def list_all(self) -> list[Source]:
        """Return every source, by name."""
        return list(self._table.items.values())

    def password(self, source: Source) -> str | None:
        """Return the decrypted password, for connecting.

        Raises:
            ConfigurationError: it cannot be decrypted; the message has the fix.
        """
        if source.sealed is None:
            return None
        return self._keys.open(source.sealed, row=source.id, field=PASSWORD)

    async def create(self, change: SourceUpdate, *, actor: str) -> Source:
        """Store a new source; `change.fields` contains at least its name and kind.

        Raises:
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another source has the name.
            ConfigurationError: the keys are invalid.
        """
        moment = isoformat(self._clock.now())
        blank = Source(new_id("src"), "", "mysql", created_at=moment, updated_at=moment)

        def add(transaction: Transaction) -> str:
            made = self._sealed(_changed(blank, change.fields), change.password)
            check_source(made)
            self._check_name(transaction, made)
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, actor, None, made.shown(), outcome="created")
            return made.id

        return self.get(await self._table.write(add))

    async def change(
        self, source_id: str, change: SourceUpdate, *, actor: str, expected: int | None = None
    ) -> Source:
        """Change a source from the next call.

        Raises:
            NotFound: the source does not exist.
            InvalidInput: a field is invalid, or the password must be included.
            AlreadyExists: another source has the name.
            VersionMismatch: it has changed since `expected` was read.
            ConfigurationError: the keys are invalid.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> str:
            before = self._table.current(transaction, source_id, expected)
            after = _changed(before, change.fields)
            check_move(before, after, has_new_password=change.password is not None)
            after = self._sealed(after, change.password)
            check_source(after)
            if after == before:
                return source_id
            self._check_name(transaction, after)
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            old, new = before.shown(), after.shown()
            named = [name for name in new if new[name] != old[name]]
            if change.password is not None:
                named.append("password_set")
            self._table.note(
                transaction,
                source_id,
                actor,
                {name: old[name] for name in named},
                {name: new[name] for name in named},
                outcome="changed",
            )
            return source_id

        return self.get(await self._table.write(write))

    async def remove(self, source_id: str, *, actor: str, expected: int | None = None) -> Source:
        """Delete a source with its password, and return it; its audited queries stay.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """
        return await self._table.remove(
            source_id, actor=actor, expected=expected, outcome="removed"
        )

    async def reseal(self, *, actor: str) -> int:
        """Encrypt every password with the present key; return their number.

        Raises:
            ConfigurationError: a password cannot be decrypted, so nothing was changed; names the
                source.
        """

        def seal(transaction: Transaction) -> int:
            stored = self._table.stored(transaction).values()
            kept = [item for item in stored if item.sealed is not None]
            for source in kept:
                again = self._keys.seal(str(self.password(source)), row=source.id, field=PASSWORD)
                transaction.execute(_SEAL, (again, source.id))
            after = {"sealed": len(kept)}
            self._table.note(transaction, "keys", actor, None, after, outcome="rotated")
            return len(kept)

        return await self._table.write(seal)

    def _sealed(self, source: Source, password: str | None) -> Source:
        # In the transaction, so that a key rotation comes completely before or after it.
        if password is None:
            return source
        if not password:
            return replace(source, sealed=None)
        return replace(source, sealed=self._keys.seal(password, row=source.id, field=PASSWORD))

    def _check_name(self, transaction: Transaction, source: Source) -> None:
        if self._table.is_name_taken(transaction, source):
            raise AlreadyExists(f"Data source {source.name!r} already exists", field="name")

    def _loaded(self, _: Mapping[str, Source]) -> None:
        for watcher in self._watchers:
            watcher()


def _changed(source: Source, fields: Mapping[str, Any]) -> Source:
    place = {name: value for name, value in fields.items() if name in _ADDRESS}
    rest = {name: value for name, value in fields.items() if name not in _ADDRESS}
    return replace(source, address=replace(source.address, **place), **rest)


def _of_row(row: Sequence[Any]) -> Source:
    id_, name, kind, address, sealed, tables, agents, limits, enabled, *rest = row
    return Source(
        id_,
        name,
        kind,
        DatabaseAddress(**orjson.loads(address)),
        sealed,
        tables_of_json(orjson.loads(tables)),
        tuple(orjson.loads(agents)),
        QueryLimits(**orjson.loads(limits)),
        bool(enabled),
        *rest,
    )


def _row(source: Source) -> tuple[Any, ...]:
    def text(value: Any) -> str:
        return orjson.dumps(value).decode()

    return (
        *(source.id, source.name, source.kind, text(asdict(source.address)), source.sealed),
        *(text(tables_as_json(source.tables)), text(list(source.agents))),
        *(text(asdict(source.limits)), int(source.enabled)),
        *(source.version, source.created_at, source.updated_at),
    )


def _missing(source_id: str) -> NotFound:
    return NotFound(f"Data source {source_id!r} not found", source_id=source_id)


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.source",
    columns=(
        *("id", "name", "kind", "address", "password", "tables", "agents", "limits", "enabled"),
        *("version", "created_at", "updated_at"),
    ),
    order="name, id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
