"""Shared parts of the SQL tools: fields, caller, and rows as text for a model."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.core.text import dump_json
from app.domain.data_sources import DATA_SOURCES, DataSources, QueryCaller, QueryRows
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.tools.untrusted import untrusted

SourceId = Annotated[
    str,
    Field(min_length=1, max_length=128, description="ID or name from mysql_list_sources."),
]
TableRef = Annotated[str, Field(min_length=1, max_length=300)]
ARGUMENT_ALIASES = {"sourceId": "source_id", "source": "source_id"}
# Time besides the statement: waiting for a connection, and opening one.
AROUND_S = 45
MAX_STATEMENT_S = 300


def sources_of(ctx: ToolContext) -> DataSources:
    """Return the service.

    Raises:
        ToolFailed: it is not available.
    """
    return ctx.services.require(DATA_SOURCES, DataSources)  # type: ignore[type-abstract]


def asker_of(ctx: ToolContext, tool_name: str) -> QueryCaller:
    """Return the subject of a call."""
    return QueryCaller(
        tool_name, ctx.operation_id, ctx.agent_id, ctx.user_id, ctx.session_id, ctx.run_id
    )


def rows_result(found: QueryRows) -> ToolResult:
    """Return the rows as data, as a table, and as text marked as untrusted."""
    data = {
        "columns": list(found.columns),
        "rows": found.rows,
        "row_count": len(found.rows),
        "truncated": found.truncated,
        "elapsed_ms": found.elapsed_ms,
        "sql_executed": found.sql,
    }
    lines = [dump_json(list(found.columns)).decode()]
    lines += [dump_json(row).decode() for row in found.rows]
    count = f"{len(found.rows)} row{'' if len(found.rows) == 1 else 's'}"
    more = "; there are more: narrow the query or request a higher limit"
    head = f"{count}{more if found.truncated else ''}\n"
    table = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return ToolResult.ok(
        data,
        text=head + untrusted("\n".join(lines), f"data source {found.source_name}"),
        raw_result=RawResult("table", table),
    )
