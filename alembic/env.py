"""Alembic's entry: which database, which models."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlmodel import SQLModel

from alembic import context
from app.config.settings import load_settings
from app.db import (
    approval_tables,
    board_tables,
    channel_tables,
    connection_tables,
    delegation_tables,
    idempotency_tables,
    memory_tables,
    notification_tables,
    proposal_tables,
    question_tables,
    schedule_tables,
    skill_tables,
    source_tables,
    tables,
    trigger_tables,
)

MODELS = (
    approval_tables,
    board_tables,
    channel_tables,
    connection_tables,
    delegation_tables,
    idempotency_tables,
    memory_tables,
    notification_tables,
    proposal_tables,
    question_tables,
    schedule_tables,
    skill_tables,
    source_tables,
    tables,
    trigger_tables,
)
"""Importing them is what tells Alembic of their tables."""


def database_path() -> Path:
    """What the caller named, else the configured data directory."""
    named = context.config.attributes.get("sqlite_path")
    return Path(named) if named else load_settings().database_path


def _leave_transactions_to_us(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begin(connection: sqlalchemy.Connection) -> None:
    # At once for writing: two programs that start together migrate one after the other.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _ours(connection: sqlalchemy.Connection) -> Callable[..., bool]:
    """Which tables `alembic check` compares with the models.

    A virtual table, such as a full-text index, is made by its migration, and SQLite keeps it in
    tables of its own, `<name>_…`: no model describes them.
    """

    @cache  # asked when first needed: a query before `begin_transaction` would open another one
    def indexes() -> tuple[str, ...]:
        made = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE %'"
        return tuple(connection.exec_driver_sql(made).scalars())

    def include_name(name: str | None, kind: str, _: Any) -> bool:
        if kind != "table" or name is None or name in SQLModel.metadata.tables:
            return True
        return not any(name == index or name.startswith(f"{index}_") for index in indexes())

    return include_name


def run() -> None:
    assert tables.SessionRow.metadata is SQLModel.metadata
    path = database_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = sqlalchemy.create_engine(
        sqlalchemy.URL.create("sqlite", database=str(path)), poolclass=sqlalchemy.NullPool
    )
    # All or nothing: the driver would commit each statement that changes the schema, and a
    # full disk would leave a database that no version can read.
    sqlalchemy.event.listen(engine, "connect", _leave_transactions_to_us)
    sqlalchemy.event.listen(engine, "begin", _begin)
    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=SQLModel.metadata,
            render_as_batch=True,
            compare_type=True,
            include_name=_ours(connection),
            transactional_ddl=True,
        )
        with context.begin_transaction():
            context.run_migrations()


run()
