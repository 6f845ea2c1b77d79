"""`mysql_query`: returns the rows of one SELECT."""

from __future__ import annotations

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
    asker_of,
    rows_result,
    sources_of,
)
from app.tools.sql.returns import ROWS_RESULT


class MysqlQueryArgs(ToolArgs):
    source_id: SourceId
    sql: str = Field(
        min_length=1,
        max_length=20_000,
        description="One SELECT in the dialect of the source; a final semicolon is allowed.",
    )
    limit: int = Field(default=100, ge=1, le=1000, description="Maximum rows.")
    timeout: int = Field(
        default=15,
        ge=1,
        le=MAX_STATEMENT_S,
        description="Timeout in seconds; the source may allow less.",
    )


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
    argument_aliases=ARGUMENT_ALIASES | {"query": "sql"},
    aliases=(Alias("sql_query"),),
    return_schema=ROWS_RESULT,
)
async def mysql_query(args: MysqlQueryArgs, ctx: ToolContext) -> ToolResult:
    """Run one SELECT on a data source and return its rows.

    It can read, join and group the tables that mysql_schema shows, except masked columns. Let the
    database count and aggregate instead of reading many rows. `sql_executed` is the SQL that ran.
    """
    found = await sources_of(ctx).query(
        asker_of(ctx, "mysql_query"),
        args.source_id,
        args.sql,
        limit=args.limit,
        timeout_s=args.timeout,
    )
    return rows_result(found)
