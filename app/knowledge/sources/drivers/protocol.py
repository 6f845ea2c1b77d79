"""What the rest asks of a database, whatever its kind.

    driver = driver_of(kind)
    connection = await driver.connect(target)
    result = await connection.run(sql, bounds)

A connection runs one thing at a time. After an error that leaves it in an unknown state
`is_usable` is false, and it is only closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.knowledge.sources.model import DatabaseAddress, TableName

CONNECT_S = 10.0
GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """What is needed to connect, for as long as that takes.

    Attributes:
        name: what people call the source; the only thing of it that errors show.
    """

    name: str
    address: DatabaseAddress
    password: str | None = field(default=None, repr=False)
    sqlite_folders: tuple[str, ...] = ()
    hidden_folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readable:
    """A table and those of its columns that a statement may read."""

    table: TableName
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """What one statement may take.

    Attributes:
        timeout_s: seconds after which the server ends it.
        grace_s: seconds more until we end it ourselves.
        max_bytes: of the rows as JSON.
        readable: for a driver that can enforce it, what may be read; None for everything.
    """

    max_rows: int
    max_bytes: int
    timeout_s: float
    grace_s: float = GRACE_S
    readable: tuple[Readable, ...] | None = None

    @property
    def deadline_s(self) -> float:
        return max(0.01, self.timeout_s + self.grace_s)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as JSON values; `truncated` when there was more."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    truncated: bool


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column as the database describes it; `type` in its own words."""

    name: str
    type: str
    nullable: bool
    comment: str = ""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    name: str
    columns: tuple[str, ...]
    unique: bool


@dataclass(frozen=True, slots=True)
class ForeignKeyFacts:
    columns: tuple[str, ...]
    table: TableName
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table or a view. The comment is the table's own, never a column's."""

    table: TableName
    kind: str
    comment: str
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[IndexFacts, ...] = ()
    foreign_keys: tuple[ForeignKeyFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a connection test finds. `can_write` when the account could change something."""

    version: str
    can_write: bool
    tls: bool


class SourceConnection(Protocol):
    """One open connection, in which nothing can be written."""

    @property
    def is_usable(self) -> bool:
        """Whether another statement may be run on it."""

    async def run(self, sql: str, bounds: StatementLimits) -> Rows:
        """Run one reading statement. When it is cancelled or late, the server stops it too.

        Raises:
            ToolFailed: code `query_timeout`, `query_failed` or `source_unavailable`; the
                message names no host, user or password.
        """

    async def tables(self, wanted: Sequence[TableName] | None, limit: int) -> list[TableFacts]:
        """Those tables (at most `limit` of all there are when None), as they are now, by name.

        Raises:
            ToolFailed: as `run`.
        """

    async def facts(self) -> ServerFacts:
        """What the server says about itself and about our rights.

        Raises:
            ToolFailed: as `run`.
        """

    async def close(self) -> None:
        """Close it; never fails."""


class Driver(Protocol):
    """One kind of database."""

    async def connect(self, target: ConnectionTarget) -> SourceConnection:
        """Open a connection in which nothing can be written.

        Raises:
            ToolFailed: code `source_unavailable`; the message names no host, user or password.
        """
