"""What the SQL tools need from the room that keeps data sources; bound in the composition.

Connections, passwords, the guard, masks, limits and the audit of queries are behind this
port, in the main process: a tool sees names of tables and rows, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

DATA_SOURCES = "data_sources"


@dataclass(frozen=True, slots=True)
class QueryCaller:
    """On whose behalf a query runs: what the audit of queries keeps."""

    tool_name: str
    operation_id: str
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """A data source as an agent sees it: never where it is, or who signs in there.

    Attributes:
        kind: `mysql` (MariaDB too), `postgres` or `sqlite`: the dialect of its queries.
        tables: how many tables the agent may read.
    """

    id: str
    name: str
    kind: str
    tables: int
    max_rows: int
    statement_s: float


@dataclass(frozen=True, slots=True)
class QueryRows:
    """What a query gave. `sql` is what ran: the guard's words, not the caller's."""

    source_name: str
    columns: tuple[str, ...]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ms: float
    sql: str


@runtime_checkable
class DataSources(Protocol):
    """The service `DATA_SOURCES`.

    A source that the agent may not read looks like one that is not there. All methods raise
    `ToolFailed`: code `source_not_found`, `source_unavailable`, `source_busy`,
    `query_timeout`, `query_failed`, or the reason of the guard.
    """

    def visible(self, agent_id: str | None) -> Sequence[SourceSummary]:
        """The sources that an agent may read, by name."""

    async def describe(
        self, caller: QueryCaller, source_id: str, tables: Sequence[str] | None
    ) -> list[dict[str, Any]]:
        """Those tables (all that the agent may read when None): columns, keys, marks of masks."""

    async def sample(
        self,
        caller: QueryCaller,
        source_id: str,
        table: str,
        columns: Sequence[str] | None,
        limit: int,
    ) -> QueryRows:
        """A few rows of one table, without its masked columns."""

    async def query(
        self, caller: QueryCaller, source_id: str, sql: str, *, limit: int, timeout_s: float
    ) -> QueryRows:
        """The rows of one SELECT."""
