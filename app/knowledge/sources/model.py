"""A data source: where a database is, and what of it which agent may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["mysql", "postgres", "sqlite"]
Tls = Literal["verify", "require", "off"]

EVERYBODY = "*"
"Wildcard in `agents` for every agent, and for calls without an agent."
PASSWORD = "password"  # noqa: S105 - the name of a field
DEFAULT_PORTS: dict[Kind, int] = {"mysql": 3306, "postgres": 5432}


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table by its own spelling. The schema of MySQL is a database, that of SQLite `main`."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def folded(self) -> tuple[str, str]:
        """What names are compared by."""
        return self.schema.lower(), self.name.lower()


@dataclass(frozen=True, slots=True)
class AllowedTable:
    """A table that may be read, except the columns in `masked` (their own spelling)."""

    table: TableName
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where the database is and who we are there; `file` is for SQLite, the rest is not.

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
    """What one query may take at most: rows, bytes of JSON, seconds."""

    max_rows: int = 1000
    max_bytes: int = 1_000_000
    statement_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Source:
    """One stored data source.

    Attributes:
        sealed: the encrypted password; None without one.
        agents: ids of the agents that may read it; nobody when empty.
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
        """Whether calls of that agent may read it."""
        return self.enabled and (EVERYBODY in self.agents or agent_id in self.agents)

    def shown(self) -> dict[str, Any]:
        """What the audit keeps of it: everything but the password."""
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
    """As they are stored and shown."""
    return [
        {"schema": item.table.schema, "name": item.table.name, "masked": list(item.masked)}
        for item in tables
    ]


def tables_of_json(items: Iterable[dict[str, Any]]) -> tuple[AllowedTable, ...]:
    """The inverse of `tables_as_json`."""
    return tuple(
        AllowedTable(TableName(item["schema"], item["name"]), tuple(item["masked"]))
        for item in items
    )
