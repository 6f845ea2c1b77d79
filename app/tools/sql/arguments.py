"""What the SQL tools share: their fields, who asks, and rows as a model reads them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.core.text import dump_json
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.tools.sql.ports import DATA_SOURCES, DataSources, QueryCaller, QueryRows
from app.tools.untrusted import untrusted

SourceId = Annotated[
    str,
    Field(min_length=1, max_length=128, description="ID or name from mysql_list_sources."),
]
TableRef = Annotated[str, Field(min_length=1, max_length=300)]
ARGUMENT_ALIASES = {"sourceId": "source_id", "source": "source_id"}
# What may take time besides the statement: waiting for a connection, and making one.
AROUND_S = 45
MAX_STATEMENT_S = 300


def sources_of(ctx: ToolContext) -> DataSources:
    """The service.

    Raises:
        ToolFailed: there is none.
    """
    return ctx.services.require(DATA_SOURCES, DataSources)  # type: ignore[type-abstract]


def asker_of(ctx: ToolContext, tool_name: str) -> QueryCaller:
    """On whose behalf a call runs."""
    return QueryCaller(
        tool_name, ctx.operation_id, ctx.agent_id, ctx.user_id, ctx.session_id, ctx.run_id
    )


def rows_result(found: QueryRows) -> ToolResult:
    """The rows as data, as a table to draw, and as text that is marked as data."""
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
