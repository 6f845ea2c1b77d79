"""`mysql_table_sample`: returns a few rows of one table."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.domain.data_sources import DATA_SOURCES
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.sql.arguments import (
    ARGUMENT_ALIASES,
    AROUND_S,
    MAX_STATEMENT_S,
    SourceId,
    TableRef,
    asker_of,
    rows_result,
    sources_of,
)
from app.tools.sql.returns import ROWS_RESULT


class MysqlTableSampleArgs(ToolArgs):
    source_id: SourceId
    table: TableRef = Field(description="Name as `table` or `schema.table`.")
    columns: Annotated[list[TableRef], Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Columns to read; default: all that are not masked."
    )
    limit: int = Field(default=5, ge=1, le=20, description="Maximum rows.")


@tool(
    category="database",
    toolset="mysql",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NETWORK,
    kind="read",
    routing_hint="main-process-proxy",
    timeout_s=AROUND_S + MAX_STATEMENT_S,
    tags=("sql", "database"),
    requires=(DATA_SOURCES,),
    argument_aliases=ARGUMENT_ALIASES,
    aliases=(Alias("sql_table_sample"),),
    return_schema=ROWS_RESULT,
)
async def mysql_table_sample(args: MysqlTableSampleArgs, ctx: ToolContext) -> ToolResult:
    """Return a few rows of a table to show typical values; masked columns are omitted."""
    found = await sources_of(ctx).sample(
        asker_of(ctx, "mysql_table_sample"), args.source_id, args.table, args.columns, args.limit
    )
    return rows_result(found)
