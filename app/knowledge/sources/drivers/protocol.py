"""Protocol of database drivers.

    driver = driver_of(kind)
    connection = await driver.connect(target)
    result = await connection.run(sql, bounds)

A connection runs one statement at a time. After an error that leaves it in an unknown state,
`is_usable` is false and it must be closed.
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
    """Data needed to connect.

    Attributes:
        name: name of the source, the only part shown in errors.
    """

    name: str
    address: DatabaseAddress
    password: str | None = field(default=None, repr=False)
    sqlite_folders: tuple[str, ...] = ()
    hidden_folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readable:
    """Table and its readable columns."""

    table: TableName
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Limits of one statement.

    Attributes:
        timeout_s: seconds after which the server ends it.
        grace_s: additional seconds until we end it ourselves.
        max_bytes: maximum bytes of the rows as JSON.
        readable: readable tables, for a driver that can enforce it; None for all.
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
    """Rows as JSON values; `truncated` if there were more."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    truncated: bool


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Column as described by the database; `type` in its own terms."""

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
    """Table or view. The comment is the table's own, never a column's."""

    table: TableName
    kind: str
    comment: str
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[IndexFacts, ...] = ()
    foreign_keys: tuple[ForeignKeyFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Result of a connection test; `can_write` if the account could change data."""

    version: str
    can_write: bool
    tls: bool


class SourceConnection(Protocol):
    """Open connection in which nothing can be written."""

    @property
    def is_usable(self) -> bool:
        """Return whether another statement may be run."""

    async def run(self, sql: str, bounds: StatementLimits) -> Rows:
        """Run one reading statement. On cancellation or timeout, the server stops it too.

        Raises:
            ToolFailed: code `query_timeout`, `query_failed` or `source_unavailable`; the message
                contains no host, user or password.
        """

    async def tables(self, wanted: Sequence[TableName] | None, limit: int) -> list[TableFacts]:
        """Return the given tables (None for all, at most `limit`) in their current state, by name.

        Raises:
            ToolFailed: as `run`.
        """

    async def facts(self) -> ServerFacts:
        """Return the server's description of itself and our rights.

        Raises:
            ToolFailed: see `run`.
        """

    async def close(self) -> None:
        """Close it; never fails."""


class Driver(Protocol):
    """Driver of one kind of database."""

    async def connect(self, target: ConnectionTarget) -> SourceConnection:
        """Open a connection in which nothing can be written.

        Raises:
            ToolFailed: code `source_unavailable`; the message contains no host, user or password.
        """
