"""Configuration tables: cached in memory, and changed together with an audit entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from app.core.errors import NotFound
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment, number_of


class ConfigItem(Protocol):
    """Item of a configuration table."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    def shown(self) -> dict[str, Any]:
        """Return its fields for the audit."""


T = TypeVar("T")
Item = TypeVar("Item", bound=ConfigItem)


@dataclass(frozen=True, slots=True)
class ConfigSchema(Generic[Item]):
    """Storage of one kind of items.

    Attributes:
        name: name of the table, and of the subject that other processes watch.
        kind: kind of its audit entries.
        columns: the id first.
        order: the columns by which items are listed.
        item: the item of a row.
        row: the values of an item, in the order of `columns`.
        missing: the error for an id that is not stored.
    """

    name: str
    kind: str
    columns: Sequence[str]
    order: str
    item: Callable[[Sequence[Any]], Item]
    row: Callable[[Item], Sequence[Any]]
    missing: Callable[[str], NotFound]


class ConfigTable(Generic[Item]):
    """Items of one table.

    Attributes:
        items: stored items by ID; replaced as a whole after each change.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        audit: AuditLog,
        changes: ConfigVersions,
        schema: ConfigSchema[Item],
        on_load: Callable[[Mapping[str, Item]], None] | None = None,
    ) -> None:
        """Bind it.

        Args:
            on_load: called with the previous items after `items` was replaced.
        """
        self._db = db
        self._audit = audit
        self._changes = changes
        self._schema = schema
        self._on_load = on_load
        self.items: Mapping[str, Item] = {}
        name, columns = schema.name, schema.columns
        # Names of tables and columns are constants of the modules that define schemas.
        self._select = f"SELECT {', '.join(columns)} FROM {name} ORDER BY {schema.order}"  # noqa: S608
        marks = ", ".join("?" for _ in columns)
        self._insert = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        values = ", ".join(f"{column} = ?" for column in columns[1:])
        self._update = f"UPDATE {name} SET {values} WHERE id = ?"  # noqa: S608
        self._delete = f"DELETE FROM {name} WHERE id = ?"  # noqa: S608
        changes.watch(name, self.load)

    async def load(self) -> None:
        """Load the stored items, including changes by other processes."""
        await self.write(lambda _: None)

    def get(self, item_id: str) -> Item:
        """Return one item.

        Raises:
            NotFound: it is not stored.
        """
        found = self.items.get(item_id)
        if found is None:
            raise self._schema.missing(item_id)
        return found

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run a change in one transaction, then load the resulting items."""

        def run(transaction: Transaction) -> tuple[T, dict[str, Item], int]:
            answer = work(transaction)
            return answer, self.stored(transaction), number_of(transaction, self._schema.name)

        answer, items, number = await self._db.transact(run)
        self._changes.saw(self._schema.name, number)
        before, self.items = self.items, items
        if self._on_load is not None:
            self._on_load(before)
        return answer

    async def remove(self, item_id: str, *, actor: str, expected: int | None, **facts: Any) -> Item:
        """Delete an item, with an audit entry, and return its last state.

        Raises:
            NotFound: it is not stored.
            VersionMismatch: it has changed since `expected` was read.
        """

        def remove(transaction: Transaction) -> Item:
            before = self.current(transaction, item_id, expected)
            self.delete(transaction, item_id)
            self.note(transaction, item_id, actor, before.shown(), None, **facts)
            return before

        return await self.write(remove)

    # -- within a transaction -------------------------------------------------------------

    def stored(self, transaction: Transaction) -> dict[str, Item]:
        """Return all stored items by ID."""
        return {row[0]: self._schema.item(row) for row in transaction.fetch(self._select)}

    def current(self, transaction: Transaction, item_id: str, expected: int | None) -> Item:
        """Return the stored item that a change applies to.

        Raises:
            NotFound: it is not stored.
            VersionMismatch: it has changed since `expected` was read.
        """
        stored = self.stored(transaction).get(item_id)
        if stored is None:
            raise self._schema.missing(item_id)
        check_version(expected, stored.version)
        return stored

    def is_name_taken(self, transaction: Transaction, item: Item) -> bool:
        """Return whether another item has the same name."""
        others = self.stored(transaction).values()
        return any(other.name == item.name and other.id != item.id for other in others)

    def insert(self, transaction: Transaction, item: Item) -> None:
        """Store a new item."""
        transaction.execute(self._insert, tuple(self._schema.row(item)))

    def update(self, transaction: Transaction, item: Item) -> None:
        """Replace the item with the same ID."""
        id_, *values = self._schema.row(item)
        transaction.execute(self._update, (*values, id_))

    def delete(self, transaction: Transaction, item_id: str) -> None:
        """Delete an item."""
        transaction.execute(self._delete, (item_id,))

    def note(
        self,
        transaction: Transaction,
        subject: str,
        actor: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        **facts: Any,
    ) -> None:
        """Record a change in the audit, and notify other processes.

        Args:
            facts: further values of the audit entry, such as its `outcome`.
        """
        increment(transaction, self._schema.name)
        self._audit.within(
            transaction,
            AuditEntry(
                self._schema.kind,
                actor=actor,
                subject=subject,
                before=before,
                after=after,
                **facts,
            ),
        )
