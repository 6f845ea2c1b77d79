"""Alembic's entry: which database, which models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy
from sqlmodel import SQLModel

from alembic import context
from app.core.settings import load_settings
from app.db import (
    board_tables,
    channel_tables,
    delegation_tables,
    memory_tables,
    question_tables,
    schedule_tables,
    skill_tables,
    source_tables,
    tables,
    trigger_tables,
)

MODELS = (
    board_tables,
    channel_tables,
    delegation_tables,
    memory_tables,
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
            transactional_ddl=True,
        )
        with context.begin_transaction():
            context.run_migrations()


run()
