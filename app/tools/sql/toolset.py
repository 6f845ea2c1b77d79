"""The `mysql` toolset, for every kind of data source; `sql_*` are other names of its tools."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.sql.mysql_list_sources import mysql_list_sources
from app.tools.sql.mysql_query import mysql_query
from app.tools.sql.mysql_schema import mysql_schema
from app.tools.sql.mysql_table_sample import mysql_table_sample

TOOLS: tuple[Tool, ...] = (mysql_list_sources, mysql_schema, mysql_table_sample, mysql_query)
