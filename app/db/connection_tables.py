"""Tables: connections of programs. Times as in `app.db.tables`."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from app.db.tables import NO


class NetworkConnectionRow(SQLModel, table=True):
    """Connection of a program through the egress proxy, or a name lookup that was refused.

    `verdict` is open, allowed, refused or lost; `code` and `reason` say why it was refused. `port`
    is 0 for a name lookup. Bytes are counted from the program's side.
    """

    __tablename__ = "network_connections"
    __table_args__ = (
        Index("ix_network_connections_operation", "operation_id"),
        Index("ix_network_connections_host", "host", "seq"),
    )
    seq: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    ts: str
    host: str
    port: int
    verdict: str
    code: str | None = None
    reason: str | None = Field(default=None, sa_column=Column(Text))
    bytes_up: int = Field(default=0, sa_column_kwargs=NO)
    bytes_down: int = Field(default=0, sa_column_kwargs=NO)
    duration_s: float = Field(default=0, sa_column_kwargs=NO)
    operation_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None
