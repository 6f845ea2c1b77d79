"""Request and response models of data sources. Passwords are write-only."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import BaseModel, Field, SecretStr

from app.api.rest.body import Body, unsent
from app.api.rest.examples import MOMENT, example
from app.db.source_tables import QueryAuditRow
from app.knowledge.sources.drivers.protocol import TableFacts
from app.knowledge.sources.inspection import Inspection
from app.knowledge.sources.model import AllowedTable, QueryLimits, Source, TableName
from app.knowledge.sources.store import SourceUpdate

_TABLE: dict[str, Any] = {"schema": "shop", "name": "customers", "masked": ["email"]}
_LIMITS: dict[str, Any] = {"max_rows": 1000, "max_bytes": 1_000_000, "statement_s": 15.0}
_NEW: dict[str, Any] = {
    "name": "Shop",
    "kind": "mysql",
    "host": "db.example.org",
    "port": 3306,
    "database": "shop",
    "user": "reader",
    "tls": "verify",
    "tables": [_TABLE],
    "agents": ["support"],
    "limits": _LIMITS,
    "enabled": True,
}
_SOURCE: dict[str, Any] = {
    **_NEW,
    "id": "src_1",
    "unix_socket": None,
    "file": None,
    "tls_ca_file": None,
    "password_set": True,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_QUERY: dict[str, Any] = {
    "seq": 7,
    "ts": MOMENT,
    "source_id": "src_1",
    "tool_name": "mysql_query",
    "agent_id": "support",
    "user_id": "ann",
    "session_id": "ses_1",
    "run_id": "run_1",
    "operation_id": "op_7f3a9c000001",
    "sql": "SELECT count(*) FROM orders",
    "tables": ["shop.orders"],
    "rows": 1,
    "ms": 3.5,
    "verdict": "allowed",
    "reason": None,
}
_DISCOVERED: dict[str, Any] = {
    "schema": "shop",
    "name": "customers",
    "kind": "table",
    "comment": "Who buys.",
    "columns": [{"name": "email", "type": "varchar(200)", "masked": True}],
    "allowed": True,
}

Kind = Literal["mysql", "postgres", "sqlite"]
Tls = Literal["verify", "require", "off"]
Named = Annotated[str, Field(min_length=1, max_length=128, pattern=r"\S")]
Place = Annotated[str, Field(min_length=1, max_length=1024)]
Port = Annotated[int, Field(ge=1, le=65_535)]
AgentEntry = Annotated[str, Field(min_length=1, max_length=128)]
Secret = Annotated[SecretStr, Field(max_length=1000)]
AGENTS = "IDs of agents that may read it; `*` is every agent, and calls without one."


class SourceTable(Body):
    """A readable table, and its columns that are masked."""

    model_config = example(**_TABLE)

    schema_name: Named = Field(alias="schema", description="MySQL: the database. SQLite: `main`.")
    name: Named
    masked: list[Named] = Field(default_factory=list, max_length=1000)

    def allowed(self) -> AllowedTable:
        return AllowedTable(TableName(self.schema_name, self.name), tuple(self.masked))

    @classmethod
    def of(cls, item: AllowedTable) -> Self:
        return cls(schema=item.table.schema, name=item.table.name, masked=list(item.masked))


class SourceLimits(Body):
    """Limits of one query."""

    model_config = example(**_LIMITS)

    max_rows: int = Field(default=1000, ge=1, le=1000)
    max_bytes: int = Field(default=1_000_000, ge=1000, le=10_000_000, description="Values as JSON.")
    statement_s: float = Field(
        default=15.0, gt=0, le=300, strict=False, description="Duration in seconds."
    )


Tables = Annotated[list[SourceTable], Field(max_length=1000)]
Agents = Annotated[list[AgentEntry], Field(max_length=1000, description=AGENTS)]


class SourceFields(Body):
    """Fields of a data source, except its kind."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")] = unsent()
    host: Place | None = Field(
        default=None, description="Host name or address; private addresses are allowed."
    )
    port: Port | None = None
    unix_socket: Place | None = Field(
        default=None,
        description="Unix socket to use instead of `host`; for PostgreSQL, the folder of the "
        "socket.",
    )
    database: Named | None = None
    file: Place | None = Field(
        default=None, description="SQLite only: a file in TOLLGATE_SOURCES__SQLITE_FOLDERS."
    )
    user: Named | None = None
    password: Secret | None = Field(
        default=None,
        description="Write-only; an empty value removes it. Required if the address or the user "
        "changes.",
    )
    tls: Tls = "verify"
    tls_ca_file: Place | None = Field(
        default=None, description="File of trusted CA certificates on the service's machine."
    )
    tables: Tables = Field(default_factory=list)
    agents: Agents = Field(default_factory=list)
    limits: SourceLimits = Field(default_factory=SourceLimits)
    enabled: bool = True

    def change(self) -> SourceUpdate:
        """Return the submitted fields as the store expects them."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "password"}
        if "tables" in given:
            given["tables"] = tuple(item.allowed() for item in self.tables)
        if "agents" in given:
            given["agents"] = tuple(dict.fromkeys(self.agents))
        if "limits" in given:
            given["limits"] = QueryLimits(**self.limits.model_dump())
        password = None if self.password is None else self.password.get_secret_value()
        return SourceUpdate(given, password)


class NewSource(SourceFields):
    """Data source to create."""

    model_config = example(**_NEW)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    kind: Kind = Field(description="`mysql` includes MariaDB.")


class SourceChange(SourceFields):
    """Fields to change; omitted fields stay."""

    model_config = example(enabled=True)


class AdminSource(BaseModel):
    """A data source without its password."""

    model_config = example(**_SOURCE)

    id: str
    name: str
    kind: Kind
    host: str | None
    port: int | None
    unix_socket: str | None
    database: str | None
    file: str | None
    user: str | None
    password_set: bool
    tls: Tls
    tls_ca_file: str | None
    tables: list[SourceTable]
    agents: list[str]
    limits: SourceLimits
    enabled: bool
    version: int
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, source: Source) -> Self:
        shown = source.shown()
        return cls(
            **{
                **shown,
                "id": source.id,
                "tables": [SourceTable.of(item) for item in source.tables],
                "limits": SourceLimits(**shown["limits"]),
                "version": source.version,
                "created_at": source.created_at,
                "updated_at": source.updated_at,
            }
        )


class AdminSourcePage(BaseModel):
    """Data sources by name."""

    model_config = example(sources=[_SOURCE], total=1, next_after=None)

    sources: list[AdminSource]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class SourceTest(BaseModel):
    """Result of a connection test."""

    model_config = example(
        ok=True,
        error=None,
        error_code=None,
        latency_ms=4.2,
        server="MariaDB 10.11.18",
        tls=True,
        can_write=False,
        warnings=[],
        warning_codes=[],
    )

    ok: bool
    error: str | None = Field(description="Reason why it is unusable.")
    error_code: str | None = Field(description="Stable code for `error`.")
    latency_ms: float | None
    server: str | None
    tls: bool | None
    can_write: bool | None = Field(
        description="Whether the account has write permission in the database."
    )
    warnings: list[str]
    warning_codes: list[str] = Field(description="Stable codes for `warnings`, in the same order.")

    @classmethod
    def of(cls, found: Inspection) -> Self:
        return cls(**found.to_dict())


class DiscoveredColumn(BaseModel):
    """A column that could be masked."""

    model_config = example(name="email", type="varchar(200)", masked=True)

    name: str
    type: str
    masked: bool


class DiscoveredTable(BaseModel):
    """A table of the database, and whether agents may read it."""

    model_config = example(**_DISCOVERED)

    schema_name: str = Field(alias="schema")
    name: str
    kind: Literal["table", "view"]
    comment: str
    columns: list[DiscoveredColumn]
    allowed: bool

    @classmethod
    def of(cls, facts: TableFacts, source: Source) -> Self:
        allowed = next((item for item in source.tables if item.table == facts.table), None)
        masked = {name.lower() for name in allowed.masked} if allowed else set[str]()
        return cls(
            schema=facts.table.schema,
            name=facts.table.name,
            kind="view" if facts.kind == "view" else "table",
            comment=facts.comment,
            columns=[
                DiscoveredColumn(
                    name=column.name, type=column.type, masked=column.name.lower() in masked
                )
                for column in facts.columns
            ],
            allowed=allowed is not None,
        )


class DiscoveredTables(BaseModel):
    """Tables currently in the database, by name."""

    model_config = example(tables=[_DISCOVERED], total=1, cut=False)

    tables: list[DiscoveredTable]
    total: int
    cut: bool = Field(description="Whether the list may be incomplete.")


class KeyRotation(BaseModel):
    """Number of passwords that were encrypted with the current key."""

    model_config = example(sealed=3)

    sealed: int


class QueryView(BaseModel):
    """One query of an agent."""

    model_config = example(**_QUERY)

    seq: int
    ts: str
    source_id: str
    tool_name: str
    agent_id: str | None
    user_id: str | None
    session_id: str | None
    run_id: str | None
    operation_id: str | None
    sql: str = Field(description="As submitted, without secrets; for a sample, as executed.")
    tables: list[str]
    rows: int
    ms: float
    verdict: Literal["allowed", "refused"]
    reason: str | None = Field(description="Reason why it was refused or failed.")

    @classmethod
    def of(cls, row: QueryAuditRow) -> Self:
        return cls(**{**row.model_dump(), "tables": orjson.loads(row.tables)})


class QueryPage(BaseModel):
    """Queries, newest first."""

    model_config = example(rows=[_QUERY], next_before=7)

    rows: list[QueryView]
    next_before: int | None = Field(default=None, description="Cursor: `before` of the next page.")
