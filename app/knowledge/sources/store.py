"""Data sources as administrators store them; their passwords only sealed."""

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
    """What shall be different.

    Attributes:
        fields: new values of fields of `Source` and of its address.
        password: the new one; "" takes it away, None leaves it.
    """

    fields: Mapping[str, Any]
    password: str | None = None


class SourceStore:
    """Makes, changes and forgets data sources. What is stored is kept in memory, sealed."""

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
        """Read what is stored, also when another process has changed it."""
        await self._table.load()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` whenever the sources may be others than before."""
        self._watchers.append(watcher)

    def get(self, source_id: str) -> Source:
        """One source.

        Raises:
            NotFound: there is no such source.
        """
        return self._table.get(source_id)

    def list_all(self) -> list[Source]:
        """Every source, by name."""
        return list(self._table.items.values())

    def password(self, source: Source) -> str | None:
        """The password in the clear, for connecting.

        Raises:
            ConfigurationError: it does not open; the message says what to do.
        """
        if source.sealed is None:
            return None
        return self._keys.open(source.sealed, row=source.id, field=PASSWORD)

    async def create(self, change: SourceUpdate, *, actor: str) -> Source:
        """Store a new source; `change.fields` has at least its name and kind.

        Raises:
            InvalidInput: a field does not fit; it is named.
            AlreadyExists: another source has that name.
            ConfigurationError: the keys cannot be read.
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
        """Change a source; the next call of a tool sees it as it is then.

        Raises:
            NotFound: there is no such source.
            InvalidInput: a field does not fit, or the password must come along.
            AlreadyExists: another source has that name.
            VersionMismatch: it has changed since `expected` was read.
            ConfigurationError: the keys cannot be read.
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
        """Forget a source and its password, and return what it was; its audited queries stay.

        Raises:
            NotFound, VersionMismatch: as `change`.
        """
        return await self._table.remove(
            source_id, actor=actor, expected=expected, outcome="removed"
        )

    async def seal_anew(self, *, actor: str) -> int:
        """Seal every password with the key that seals now; how many there are.

        Raises:
            ConfigurationError: one does not open, so nothing was changed; it names the source.
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
        # Within the transaction: a rotation of keys comes before it or after it as a whole.
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
