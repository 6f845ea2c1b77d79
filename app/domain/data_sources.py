"""Data sources as seen by tools, and their service.

Connections, passwords, the guard, masks, limits and the audit of queries are behind this
Protocol, in the main process: a tool sees only table names and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

DATA_SOURCES = "data_sources"


@dataclass(frozen=True, slots=True)
class QueryCaller:
    """Subject of a query, for the audit of queries."""

    tool_name: str
    operation_id: str
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """Data source as seen by an agent, without address and credentials.

    Attributes:
        kind: `mysql` (MariaDB too), `postgres` or `sqlite`: the dialect of its queries.
        tables: number of tables that the agent may read.
    """

    id: str
    name: str
    kind: str
    tables: int
    max_rows: int
    statement_s: float


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Result of a query. `sql` is the executed statement, as rewritten by the guard."""

    source_name: str
    columns: tuple[str, ...]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ms: float
    sql: str


@runtime_checkable
class DataSources(Protocol):
    """Service `DATA_SOURCES`.

    A source that the agent may not read appears as missing. All methods raise `ToolFailed`: code
    `source_not_found`, `source_unavailable`, `source_busy`, `query_timeout`, `query_failed`, or the
    guard's reason.
    """

    def visible(self, agent_id: str | None) -> Sequence[SourceSummary]:
        """Return the sources that an agent may read, by name."""

    async def describe(
        self, caller: QueryCaller, source_id: str, tables: Sequence[str] | None
    ) -> list[dict[str, Any]]:
        """Describe the tables (None for all readable ones): columns, keys, masks."""

    async def sample(
        self,
        caller: QueryCaller,
        source_id: str,
        table: str,
        columns: Sequence[str] | None,
        limit: int,
    ) -> QueryRows:
        """Return a few rows of one table, without its masked columns."""

    async def query(
        self, caller: QueryCaller, source_id: str, sql: str, *, limit: int, timeout_s: float
    ) -> QueryRows:
        """Return the rows of one SELECT."""
