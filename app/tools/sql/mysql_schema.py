"""`mysql_schema`: describes the tables of a database."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.domain.data_sources import DATA_SOURCES
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.sql.arguments import (
    ARGUMENT_ALIASES,
    AROUND_S,
    SourceId,
    TableRef,
    asker_of,
    sources_of,
)
from app.tools.sql.returns import MYSQL_SCHEMA_RESULT
from app.tools.untrusted import untrusted


class MysqlSchemaArgs(ToolArgs):
    source_id: SourceId
    tables: Annotated[list[TableRef], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Names as `table` or `schema.table`; default: all."
    )


@tool(
    category="database",
    toolset="mysql",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NETWORK,
    kind="read",
    routing_hint="main-process-proxy",
    timeout_s=AROUND_S + 30,
    tags=("sql", "database"),
    requires=(DATA_SOURCES,),
    argument_aliases=ARGUMENT_ALIASES,
    aliases=(Alias("sql_schema"),),
    return_schema=MYSQL_SCHEMA_RESULT,
)
async def mysql_schema(args: MysqlSchemaArgs, ctx: ToolContext) -> ToolResult:
    """Describe the tables of a data source: columns, indexes, keys, comments.

    Read it before you write a query. Columns marked `masked` cannot be used in queries.
    """
    tables = await sources_of(ctx).describe(
        asker_of(ctx, "mysql_schema"), args.source_id, args.tables
    )
    text = "\n\n".join(map(_described, tables)) or "No tables are available to you."
    data = {"source_id": args.source_id, "tables": tables, "total": len(tables)}
    shown = untrusted(text, f"schema of data source {args.source_id}")
    return ToolResult.ok(data, text=shown, raw_result=RawResult("json", data))


def _described(table: dict[str, Any]) -> str:
    lines = [f"{table['kind']} {table['schema']}.{table['table']}{_said(table['comment'])}"]
    for column in table["columns"]:
        marks = " MASKED" if column["masked"] else ""
        null = "" if column["nullable"] else " not null"
        lines.append(f"  {column['name']} {column['type']}{null}{marks}{_said(column['comment'])}")
    if table["primary_key"]:
        lines.append(f"  primary key ({', '.join(table['primary_key'])})")
    for index in table["indexes"]:
        kind = "unique index" if index["unique"] else "index"
        lines.append(f"  {kind} {index['name']} ({', '.join(index['columns'])})")
    for key in table["foreign_keys"]:
        columns, there = ", ".join(key["columns"]), ", ".join(key["referenced_columns"])
        lines.append(f"  foreign key ({columns}) references {key['references']} ({there})")
    return "\n".join(lines)


def _said(comment: str) -> str:
    return f" -- {' '.join(comment.split())}" if comment else ""
