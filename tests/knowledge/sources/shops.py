"""Data sources on the shop, as an administrator makes them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.core.errors import ToolFailed
from app.execution.outcome import CallOutcome
from app.knowledge.sources.model import AllowedTable, Source, TableName
from app.knowledge.sources.store import SourceUpdate
from tests.execution.lab import Lab
from tests.support.sql_servers import PASSWORD, SqlServer

AGENT, OTHER_AGENT = "support", "finance"
OPEN_TABLES = ("customers", "orders", "orderItems", "products", "events")
MASKED = ("EMAIL", "phone")


def schema_of(kind: str) -> str:
    return {"mysql": "shop", "postgres": "public", "sqlite": "main"}[kind]


def allowed(kind: str, *names: str) -> tuple[AllowedTable, ...]:
    """Those tables, the personal columns of customers masked."""
    return tuple(
        AllowedTable(TableName(schema_of(kind), name), MASKED if name == "customers" else ())
        for name in names
    )


def server_change(server: SqlServer, **fields: Any) -> SourceUpdate:
    """What makes a source on a server."""
    place = {name: value for name, value in asdict(server.address()).items() if value is not None}
    usual = {
        "name": f"Shop {server.kind}",
        "kind": server.kind,
        **place,
        "tables": allowed(server.kind, *OPEN_TABLES),
        "agents": (AGENT,),
    }
    return SourceUpdate({**usual, **fields}, PASSWORD)


async def on_server(lab: Lab, server: SqlServer, **fields: Any) -> Source:
    """A source on a server, stored."""
    return await lab.runtime.sources.store.create(server_change(server, **fields), actor="ann")


async def on_file(lab: Lab, path: Path, **fields: Any) -> Source:
    """A source on a SQLite file, stored."""
    usual = {
        "name": "Shop sqlite",
        "kind": "sqlite",
        "file": str(path),
        "tables": allowed("sqlite", *OPEN_TABLES),
        "agents": (AGENT,),
    }
    return await lab.runtime.sources.store.create(SourceUpdate({**usual, **fields}), actor="ann")


async def ask(
    lab: Lab, name: str, call_id: str = "c1", *, agent: str | None = AGENT, **arguments: Any
) -> CallOutcome:
    """Call a tool as an agent would."""
    lab.context["agent_id"] = agent
    return await lab.call(name, call_id, **arguments)


def code_of(error: ToolFailed) -> str:
    return str(error.details.get("code"))
