"""`mysql_list_sources`: lists the databases that an agent may read."""

from __future__ import annotations

from app.domain.data_sources import DATA_SOURCES
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.sql.arguments import sources_of
from app.tools.sql.returns import MYSQL_LIST_SOURCES_RESULT


class MysqlListSourcesArgs(ToolArgs):
    """No arguments."""


@tool(
    category="database",
    toolset="mysql",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NONE,
    kind="read",
    routing_hint="main-process-proxy",
    tags=("sql", "database"),
    requires=(DATA_SOURCES,),
    aliases=(Alias("sql_list_sources"),),
    return_schema=MYSQL_LIST_SOURCES_RESULT,
)
async def mysql_list_sources(args: MysqlListSourcesArgs, ctx: ToolContext) -> ToolResult:
    """List the databases (MySQL, MariaDB, PostgreSQL, SQLite) that you can read.

    Start here: the other mysql tools require a source_id. `kind` is the SQL dialect to use.
    """
    sources = [
        {
            "source_id": source.id,
            "name": source.name,
            "kind": source.kind,
            "tables": source.tables,
            "max_rows": source.max_rows,
            "max_seconds": source.statement_s,
        }
        for source in sources_of(ctx).visible(ctx.agent_id)
    ]
    lines = [
        f"{item['source_id']}: {item['name']} ({item['kind']}, {item['tables']} tables)"
        for item in sources
    ]
    text = "\n".join(lines) or "No data sources are available to you."
    data = {"sources": sources, "total": len(sources)}
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", sources))
