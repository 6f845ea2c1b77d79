"""Tables: data sources of SQL tools. Times and JSON as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel


class DataSourceRow(SQLModel, table=True):
    """Database that agents may read. Its password is encrypted; the rest is not secret."""

    __tablename__ = "data_sources"
    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    kind: str
    # `{host, port, unix_socket, database, file, user, tls, tls_ca_file}`.
    address: str = Field(sa_column=Column(Text, nullable=False))
    password: str | None = Field(default=None, sa_column=Column(Text))
    # `[{schema, name, masked}]`.
    tables: str = Field(sa_column=Column(Text, nullable=False))
    agents: str = Field(sa_column=Column(Text, nullable=False))
    limits: str
    enabled: int
    version: int
    created_at: str
    updated_at: str


class QueryAuditRow(SQLModel, table=True):
    """Query of an agent, run or refused. `sql` contains no secrets."""

    __tablename__ = "query_audit"
    __table_args__ = (Index("ix_query_audit_source", "source_id", "seq"),)
    seq: int | None = Field(default=None, primary_key=True)
    ts: str
    source_id: str
    tool_name: str
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    operation_id: str | None = None
    sql: str = Field(sa_column=Column(Text, nullable=False))
    # JSON list of `schema.table`.
    tables: str = Field(sa_column=Column(Text, nullable=False))
    rows: int
    ms: float
    verdict: str
    reason: str | None = Field(default=None, sa_column=Column(Text))
