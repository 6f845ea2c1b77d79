"""A small database of orders, and a data source on it that everybody may read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from app.bootstrap.container import Runtime
from app.knowledge.sources.model import EVERYBODY, AllowedTable, Source, TableName
from app.knowledge.sources.store import SourceUpdate


async def orders_source(runtime: Runtime, folder: Path) -> Source:
    """The source `Shop`, its file in `folder`, which becomes a folder for sources."""
    path = folder / "orders.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript("CREATE TABLE orders (total); INSERT INTO orders VALUES (41), (150);")
    runtime.settings.sources.sqlite_folders.append(folder)
    fields = {
        "name": "Shop",
        "kind": "sqlite",
        "file": str(path),
        "tables": (AllowedTable(TableName("main", "orders")),),
        "agents": (EVERYBODY,),
    }
    return await runtime.sources.store.create(SourceUpdate(fields), actor="ann")
