"""Data source: its address, and the tables that agents may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["mysql", "postgres", "sqlite"]
Tls = Literal["verify", "require", "off"]

EVERYBODY = "*"
"""Wildcard in `agents` for every agent, and for calls without an agent."""
PASSWORD = "password"  # noqa: S105 - the name of a field
DEFAULT_PORTS: dict[Kind, int] = {"mysql": 3306, "postgres": 5432}


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """Table in its own spelling. The schema of MySQL is a database, that of SQLite `main`."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def folded(self) -> tuple[str, str]:
        """Return the form for comparison."""
        return self.schema.lower(), self.name.lower()


@dataclass(frozen=True, slots=True)
class AllowedTable:
    """Readable table, except the columns in `masked` (in their own spelling)."""

    table: TableName
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Address and user of the database; `file` is for SQLite, the others are not.

    Attributes:
        unix_socket: MySQL's socket, or the folder of PostgreSQL's; instead of `host`.
        tls: `verify` checks the server's certificate and name, `require` only encrypts.
        tls_ca_file: certificates to trust besides the system's.
    """

    host: str | None = None
    port: int | None = None
    unix_socket: str | None = None
    database: str | None = None
    file: str | None = None
    user: str | None = None
    tls: Tls = "verify"
    tls_ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of one query: rows, bytes of JSON, seconds."""

    max_rows: int = 1000
    max_bytes: int = 1_000_000
    statement_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Source:
    """One stored data source.

    Attributes:
        sealed: the encrypted password; None without one.
        agents: IDs of the agents that may read it; none if empty.
    """

    id: str
    name: str
    kind: Kind
    address: DatabaseAddress = field(default_factory=DatabaseAddress)
    sealed: str | None = field(default=None, repr=False)
    tables: tuple[AllowedTable, ...] = ()
    agents: tuple[str, ...] = ()
    limits: QueryLimits = field(default_factory=QueryLimits)
    enabled: bool = True
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    def is_open_to(self, agent_id: str | None) -> bool:
        """Return whether calls of the agent may read it."""
        return self.enabled and (EVERYBODY in self.agents or agent_id in self.agents)

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit: everything except the password."""
        return {
            "name": self.name,
            "kind": self.kind,
            **asdict(self.address),
            "password_set": self.sealed is not None,
            "tables": tables_as_json(self.tables),
            "agents": list(self.agents),
            "limits": asdict(self.limits),
            "enabled": self.enabled,
        }


def tables_as_json(tables: Iterable[AllowedTable]) -> list[dict[str, Any]]:
    """Return tables in stored and displayed form."""
    return [
        {"schema": item.table.schema, "name": item.table.name, "masked": list(item.masked)}
        for item in tables
    ]


def tables_of_json(items: Iterable[dict[str, Any]]) -> tuple[AllowedTable, ...]:
    """Parse the output of `tables_as_json`."""
    return tuple(
        AllowedTable(TableName(item["schema"], item["name"]), tuple(item["masked"]))
        for item in items
    )
