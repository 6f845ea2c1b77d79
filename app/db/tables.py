"""Tables. Times are RFC 3339 text in UTC, JSON is text: the same bytes on every database."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, Text, TextClause, text
from sqlmodel import Field, SQLModel

SESSION_KEY = "sessions.id"
# The database writer's partial rows omit these columns, which the database fills.
NO = {"server_default": text("0")}
ONE = {"server_default": text("1")}
EMPTY = {"server_default": text("''")}
NONE_YET = {"server_default": text("'{}'")}


class ProjectRow(SQLModel, table=True):
    """Workspace for tools."""

    __tablename__ = "projects"
    id: str = Field(primary_key=True)
    name: str
    root: str
    network: str = Field(default="", sa_column_kwargs=EMPTY)
    hosts: str = Field(default="", sa_column_kwargs=EMPTY)
    unprotected: str = Field(default="", sa_column_kwargs=EMPTY)
    restricted: bool = Field(default=True, sa_column_kwargs=ONE)
    created_at: str
    version: int = Field(default=1, sa_column_kwargs=ONE)
    updated_at: str | None = None


# Written as literals in each query: with a parameter no database uses the index.
CHATS = text("kind = 'chat'")
UNENDED = text("status = 'running' OR status = 'queued'")
BESIDE_CALLS = text("kind <> 'call.finished'")


def _partial_index(name: str, *columns: str, where: TextClause) -> Index:
    return Index(name, *columns, sqlite_where=where, postgresql_where=where)


class SessionRow(SQLModel, table=True):
    """Stored chat (`chat`), or the record of calls without one (`direct`)."""

    __tablename__ = "sessions"
    __table_args__ = (
        Index("ix_sessions_newest", "updated_at", "id"),
        Index("ix_sessions_of_user", "user_id", "kind", "updated_at", "id"),
        _partial_index("ix_chats_newest", "updated_at", "id", where=CHATS),
    )
    id: str = Field(primary_key=True)
    kind: str
    title: str
    project_id: str | None = None
    agent_id: str | None = None
    user_id: str
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    epoch: str
    leaf_entry_id: str | None = None
    meta: str = "{}"
    # Tokens and cost of all its runs, as counted by the limits.
    usage: str = Field(default="{}", sa_column_kwargs=NONE_YET)
    created_at: str
    updated_at: str


class RunRow(SQLModel, table=True):
    """One user message with its final answer, or one batch of direct calls."""

    __tablename__ = "runs"
    __table_args__ = (_partial_index("ix_runs_unended", "status", where=UNENDED),)
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    trigger: str
    status: str
    agent_id: str | None = None
    model: str | None = None
    parent_run_id: str | None = None
    owner: str | None = None
    stop_reason: str | None = None
    error: str | None = Field(default=None, sa_column=Column(Text))
    # Waiting message: `{message_id, content, client_message_id}`.
    input: str | None = Field(default=None, sa_column=Column(Text))
    usage: str = Field(default="{}", sa_column_kwargs=NONE_YET)
    started_at: str
    finished_at: str | None = None
    # State for the next process, as written by `app.agents.progress`.
    progress: str | None = Field(default=None, sa_column=Column(Text))


class EntryRow(SQLModel, table=True):
    """Message in a session's tree; a branch is an entry with a sibling."""

    __tablename__ = "entries"
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    parent_id: str | None = None
    run_id: str | None = None
    role: str
    content: str = Field(sa_column=Column(Text, nullable=False))
    created_at: str


class ToolCallRow(SQLModel, table=True):
    """Unified record of one tool call."""

    __tablename__ = "tool_calls"
    __table_args__ = (Index("ix_tool_calls_session", "session_id"),)
    operation_id: str = Field(primary_key=True)
    tool_call_id: str
    session_id: str
    run_id: str | None = None
    agent_id: str | None = None
    tool_name: str
    arguments: str = Field(sa_column=Column(Text, nullable=False))
    status: str
    started_at: str
    result: str | None = Field(default=None, sa_column=Column(Text))
    text: str | None = Field(default=None, sa_column=Column(Text))
    success: bool = Field(default=False, sa_column_kwargs=NO)
    skipped: bool = Field(default=False, sa_column_kwargs=NO)
    cached: bool = Field(default=False, sa_column_kwargs=NO)
    duplicate_of: str | None = None
    artifact_id: str | None = None
    execution_time: float = Field(default=0, sa_column_kwargs=NO)
    decision: str | None = Field(default=None, sa_column=Column(Text))


class CallTotalRow(SQLModel, table=True):
    """Number of calls of one day, tool, agent, final status and class of durations.

    `agent_id` is empty for calls without an agent. The status `asked` counts confirmations
    (`app.db.totals`).
    """

    __tablename__ = "call_totals"
    day: str = Field(primary_key=True)
    tool_name: str = Field(primary_key=True)
    agent_id: str = Field(primary_key=True)
    status: str = Field(primary_key=True)
    duration_class: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    calls: int


class RunTotalRow(SQLModel, table=True):
    """Usage of the ended runs that began on one day, by agent and model; empty for none."""

    __tablename__ = "run_totals"
    day: str = Field(primary_key=True)
    agent_id: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    runs: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    cost: float
    unpriced_tokens: int


class ConfirmationRow(SQLModel, table=True):
    """Confirmation and its one answer. `expires_at` is a Unix time.

    `call` contains what a restarted service needs to run exactly this call, while it waits;
    `edited_args` the approver's changes; `consumed_at` the time when the approval was used.
    """

    __tablename__ = "confirmations"
    __table_args__ = (Index("ix_confirmations_newest", "created_at", "id"),)
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    run_id: str | None = None
    tool_call_id: str
    operation_id: str
    agent_id: str | None = None
    tool_name: str
    digest: str
    status: str = Field(index=True)
    request: str = Field(sa_column=Column(Text, nullable=False))
    call: str = Field(
        default="{}", sa_column=Column(Text, nullable=False, server_default=text("'{}'"))
    )
    edited_args: str | None = Field(default=None, sa_column=Column(Text))
    option_id: str | None = None
    answered_by: str | None = None
    message: str | None = None
    created_at: str
    expires_at: float | None = None
    answered_at: str | None = None
    consumed_at: str | None = None


class ArtifactRow(SQLModel, table=True):
    """File produced by a call; its bytes are in the data directory."""

    __tablename__ = "artifacts"
    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key=SESSION_KEY, index=True)
    operation_id: str | None = None
    name: str
    media_type: str
    size: int
    sha256: str
    created_at: str


class CheckpointRow(SQLModel, table=True):
    """File changed by a run: its state before and after.

    The previous content is in the data directory under `before_sha256`, which is null if there was
    no file, or if `unkept` gives the reason why it was not saved. `after_sha256` is null if the
    file was deleted. `restores` is the run that this change undoes.
    """

    __tablename__ = "checkpoints"
    session_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    project_id: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    operation_id: str
    before_sha256: str | None = None
    before_size: int | None = None
    before_mode: int | None = None
    unkept: str = ""
    after_sha256: str | None = None
    restores: str = ""
    created_at: str
    changed_at: str


class WrittenRow(SQLModel, table=True):
    """Writes of sessions in a workspace, by `kind`; times are Unix times.

    `file`: the file `name` was written at `began`. `span`: calls ran from `began` to `ended`, which
    is 0 while active. `accepted`: a person approved running a file in a command; `name` is the
    digest of both and the content.
    """

    __tablename__ = "written"
    root: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    began: float
    ended: float = Field(index=True)


class EventRow(SQLModel, table=True):
    """A session's durable events of one commit, as the bytes sent.

    `seq` and `ts` are those of the first event, `more` is the number of following ones
    (`app.db.event_rows`). Rows are appended in order of arrival; `EventBlockRow` locates a
    session's own.
    """

    __tablename__ = "events"
    position: int | None = Field(default=None, primary_key=True)
    session_id: str
    epoch: str
    seq: int
    more: int = 0
    types: str
    ts: str
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class EventBlockRow(SQLModel, table=True):
    """Block of a session's events.

    `covers_to` is the last position that was scanned when the block was made.
    """

    __tablename__ = "event_blocks"
    __table_args__ = (Index("ix_event_blocks_session", "session_id", "epoch", "last_seq"),)
    number: int | None = Field(default=None, primary_key=True)
    session_id: str
    epoch: str
    first_seq: int
    last_seq: int
    first_position: int
    last_position: int
    covers_to: int


class ToolRow(SQLModel, table=True):
    """Settings of the operator for one tool of the catalog."""

    __tablename__ = "tools"
    name: str = Field(primary_key=True)
    source: str
    toolset: str
    present: bool = True
    enabled: bool = True
    requires_confirmation: bool | None = None
    prompt_hint: str | None = None
    is_core: bool | None = None
    timeout_s: float | None = None
    max_output_chars: int | None = None
    limits: str = Field(default="{}", sa_column_kwargs=NONE_YET)
    version: int = 1
    updated_at: str


class ToolsetRow(SQLModel, table=True):
    """Switch of a whole toolset; a toolset never switched has no row."""

    __tablename__ = "toolsets"
    name: str = Field(primary_key=True)
    enabled: bool = True
    version: int = 1
    updated_at: str


class ChangeRow(SQLModel, table=True):
    """Change counter of a subject, polled by other processes on this database."""

    __tablename__ = "changes"
    subject: str = Field(primary_key=True)
    number: int


class AgentRow(SQLModel, table=True):
    """Profile of an agent. `profile` is JSON text of `governance.agents.AgentProfile`."""

    __tablename__ = "agents"
    id: str = Field(primary_key=True)
    profile: str = Field(sa_column=Column(Text, nullable=False))
    version: int = 1
    created_at: str
    updated_at: str


class RuleRow(SQLModel, table=True):
    """Rule on arguments. `body` is JSON text of its definition, stored even if it is invalid."""

    __tablename__ = "rules"
    id: str = Field(primary_key=True)
    body: str = Field(sa_column=Column(Text, nullable=False))
    enabled: bool = True
    version: int = 1
    created_by: str
    created_at: str
    updated_at: str
    hits: int = Field(default=0, sa_column_kwargs=NO)
    last_hit_at: str | None = None


class GrantRow(SQLModel, table=True):
    """Standing approval: coverage, origin and number of uses.

    `scope` is run, session, agent or always; `scope_id` is the ID it is bound to; `expires_at` is a
    Unix time. It ends after `max_uses`.
    """

    __tablename__ = "grants"
    id: str = Field(primary_key=True)
    tool_name: str
    scope: str
    scope_id: str | None = None
    pattern: str = Field(sa_column=Column(Text, nullable=False))
    confirmation_id: str | None = None
    created_by: str
    created_at: str
    expires_at: float | None = None
    max_uses: int | None = None
    hits: int = Field(default=0, sa_column_kwargs=NO)
    last_used_at: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None


class AuditRow(SQLModel, table=True):
    """One line of the audit. `hash` covers the row and the previous row's hash.

    `seq` has no gaps and is assigned at commit, so that the chain has one order. An index by
    session or tool would cost every call more than the row itself (12 µs): a session's rows are
    found by time. Nearly all rows are ends of calls; the others have a separate index, at no cost
    to a call's row.
    """

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_ts", "ts"),
        _partial_index("ix_audit_beside_calls", "seq", where=BESIDE_CALLS),
    )
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    ts: str
    kind: str
    actor: str
    subject: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    tool_name: str | None = None
    operation_id: str | None = None
    verdict: str | None = None
    outcome: str | None = None
    detail: str = Field(sa_column=Column(Text, nullable=False))
    previous: str
    hash: str


class AuditHeadRow(SQLModel, table=True):
    """Head and start of the audit chain, which moves when old rows are deleted. One row."""

    __tablename__ = "audit_head"
    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    seq: int
    hash: str
    first_seq: int = 1
    first_previous: str = ""


class LoginRow(SQLModel, table=True):
    """Browser sign-in; only the digest of its secret is stored.

    Without `token_id`, it used the token from the settings, which is part of the digest.
    """

    __tablename__ = "logins"
    id: str = Field(primary_key=True)
    token_id: str | None = None
    user_id: str
    sha256: str = Field(unique=True)
    created_at: str
    expires_at: str
    last_used_at: str | None = None
    revoked_at: str | None = None


class TokenRow(SQLModel, table=True):
    """Bearer token; only its SHA-256 is stored."""

    __tablename__ = "tokens"
    id: str = Field(primary_key=True)
    name: str
    prefix: str
    sha256: str = Field(unique=True)
    scopes: str
    # JSON lists of IDs it is limited to; null means all.
    agents: str | None = None
    projects: str | None = None
    limits: str = Field(default="{}", sa_column_kwargs=NONE_YET)
    created_by: str | None = None
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None
