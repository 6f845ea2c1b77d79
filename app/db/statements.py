"""SQL statements of the database writer, in the order of a batch.

Plain SQL instead of the ORM, because a row costs 2 µs this way and 500 µs through a session
(`docs/decisions/0002-database-writer.md`). Every statement runs on SQLite and PostgreSQL; a test
prepares each against the migrated schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.db.event_blocks import Fetch, store
from app.db.event_rows import COLUMNS
from app.db.process_samples import merge_samples
from app.db.refused_images import merge_refused
from app.db.totals import (
    count_asked,
    count_calls,
    count_ended_calls,
    count_ended_runs,
    count_runs,
)

Prepare = Callable[[Fetch, list[Sequence[Any]]], list[Sequence[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One parametrized statement.

    Attributes:
        order: position in a batch.
        barrier: its commit is synced to disk before it takes effect.
        many: for an insert, the same statement for each number of rows in `CHUNKS`.
        prepare: converts the rows inside the writing transaction, on the writer's thread: `(fetch,
            rows) -> rows`. For values known only at commit time, such as a position in a chain.
            Called again when a commit is retried.
    """

    order: int
    sql: str
    barrier: bool = False
    many: tuple[tuple[int, str], ...] = ()
    prepare: Prepare | None = None


# Rows per statement, largest first. sqlite3 releases the interpreter lock at every step; with one
# row per step the writer and the event loop would mostly pass it back and forth.
CHUNKS = (64, 8)


def insert(
    order: int,
    table: str,
    columns: str,
    suffix: str = "",
    *,
    barrier: bool = False,
    prepare: Prepare | None = None,
) -> Statement:
    """Return `INSERT INTO table (columns) VALUES (?, …) suffix`; all parts are constants of this
    file.
    """
    row = f"({', '.join('?' for _ in columns.split(','))})"

    def of(count: int) -> str:
        values = ", ".join([row] * count)
        return f"INSERT INTO {table} ({columns}) VALUES {values} {suffix}".strip()  # noqa: S608

    many = tuple((count, of(count)) for count in CHUNKS)
    return Statement(order, of(1), barrier, many, prepare)


_SESSION = (
    "id, kind, title, project_id, agent_id, user_id, model, max_tokens, temperature, epoch, meta,"
    " created_at, updated_at"
)
ADD_SESSION = insert(10, "sessions", _SESSION)
# `ADD_SESSION` and the `MOVE_LEAF` of the same commit (`app.db.folded_rows`).
ADD_USED_SESSION = insert(10, "sessions", f"{_SESSION}, leaf_entry_id")
_RUN = "id, session_id, trigger, status, agent_id, model, parent_run_id, owner, started_at"
ADD_RUN = insert(20, "runs", _RUN)
# `ADD_RUN` and the `FINISH_RUN` of the same commit.
ADD_ENDED_RUN = insert(
    20, "runs", f"{_RUN}, stop_reason, error, usage, finished_at", prepare=count_ended_runs
)
QUEUE_RUN = insert(20, "runs", f"{_RUN}, input")
START_QUEUED = Statement(
    21, "UPDATE runs SET status = 'running', input = NULL, started_at = ? WHERE id = ?"
)
# Data for a restarted service to continue a batch with a waiting call.
KEEP_BATCH = Statement(22, "UPDATE runs SET input = ? WHERE id = ?")
# Progress of a run, in the commit of its last step; NULL: it must not continue.
KEEP_PROGRESS = Statement(22, "UPDATE runs SET progress = ? WHERE id = ?")
# Without an owner: the next process continues it.
PARK_RUN = Statement(22, "UPDATE runs SET owner = NULL WHERE id = ?")
FINISH_RUN = Statement(
    23,
    "UPDATE runs SET status = ?, stop_reason = ?, error = ?, usage = ?, finished_at = ?,"
    " input = NULL, progress = NULL WHERE id = ?",
    prepare=count_runs,
)
ADD_ENTRY = insert(30, "entries", "id, session_id, parent_id, run_id, role, content, created_at")
MOVE_LEAF = Statement(31, "UPDATE sessions SET leaf_entry_id = ?, updated_at = ? WHERE id = ?")
RENAME_SESSION = Statement(32, "UPDATE sessions SET title = ?, updated_at = ? WHERE id = ?")
SET_MODEL = Statement(
    32,
    "UPDATE sessions SET model = ?, max_tokens = ?, temperature = ?, updated_at = ? WHERE id = ?",
)
SET_USAGE = Statement(33, "UPDATE sessions SET usage = ? WHERE id = ?")
# Progress sample of a call; `prepare` merges it into the metadata.
KEEP_SAMPLE = Statement(34, "UPDATE sessions SET meta = ? WHERE id = ?", prepare=merge_samples)
# Images that a provider refuses, which are not sent again.
KEEP_REFUSED = Statement(35, "UPDATE sessions SET meta = ? WHERE id = ?", prepare=merge_refused)
START_CALL = insert(
    40,
    "tool_calls",
    "operation_id, tool_call_id, session_id, run_id, agent_id, tool_name, arguments, status,"
    " started_at",
    "ON CONFLICT (operation_id) DO NOTHING",
    barrier=True,
)
_CALL = (
    "operation_id, tool_call_id, session_id, run_id, agent_id, tool_name, arguments, status,"
    " started_at, result, text, success, skipped, cached, duplicate_of, artifact_id,"
    " execution_time, decision"
)
# A call without side effects is written once, at its end.
ADD_CALL = insert(41, "tool_calls", _CALL, prepare=count_calls)
FINISH_CALL = insert(
    42,
    "tool_calls",
    _CALL,
    "ON CONFLICT (operation_id) DO UPDATE SET status = excluded.status, result = excluded.result,"
    " text = excluded.text, success = excluded.success, skipped = excluded.skipped,"
    " cached = excluded.cached, duplicate_of = excluded.duplicate_of,"
    " artifact_id = excluded.artifact_id, execution_time = excluded.execution_time,"
    " decision = excluded.decision",
    prepare=count_ended_calls,
)
ADD_CONFIRMATION = insert(
    50,
    "confirmations",
    "id, session_id, run_id, tool_call_id, operation_id, agent_id, tool_name, digest, status,"
    " request, call, created_at, expires_at",
    barrier=True,
    prepare=count_asked,
)
ADD_CONFIRMATION_GROUP = insert(
    53, "confirmation_groups", "confirmation_id, group_id, active_at", "ON CONFLICT DO NOTHING"
)
# Text from a person is stored until the call has started, like the call; then only the fact.
FORGET_EDITED = "edited_args = CASE WHEN edited_args IS NULL THEN NULL ELSE '{}' END"
CANCEL_CONFIRMATION = Statement(
    51,
    f"UPDATE confirmations SET status = 'cancelled', call = '{{}}', {FORGET_EDITED},"  # noqa: S608
    " answered_at = ? WHERE id = ? AND consumed_at IS NULL",
)
# Unused approval: its call has changed, or did not run.
VOID_CONFIRMATION = Statement(
    52,
    f"UPDATE confirmations SET call = '{{}}', {FORGET_EDITED}, consumed_at = ?"  # noqa: S608
    " WHERE id = ? AND consumed_at IS NULL",
)
GRANT_HIT = Statement(55, "UPDATE grants SET hits = hits + 1, last_used_at = ? WHERE id = ?")
RULE_HIT = Statement(56, "UPDATE rules SET hits = hits + 1, last_hit_at = ? WHERE id = ?")
ADD_ARTIFACT = insert(
    60,
    "artifacts",
    "id, session_id, operation_id, name, media_type, size, sha256, created_at",
)
# The first change of a run sets the state before it, the last one the state after. While both are
# equal, the run has changed nothing yet and the next change may set the state before.
_UNTOUCHED = (
    "COALESCE(checkpoints.before_sha256, '') = COALESCE(checkpoints.after_sha256, '')"
    " AND checkpoints.unkept = ''"
)
_BEFORE = ("before_sha256", "before_size", "before_mode", "unkept")
ADD_CHECKPOINT = insert(
    65,
    "checkpoints",
    "session_id, run_id, path, project_id, operation_id, before_sha256, before_size, before_mode,"
    " unkept, after_sha256, restores, created_at, changed_at",
    "ON CONFLICT (session_id, run_id, project_id, path) DO UPDATE SET"
    " after_sha256 = excluded.after_sha256, changed_at = excluded.changed_at, "
    + ", ".join(
        f"{name} = CASE WHEN {_UNTOUCHED} THEN excluded.{name} ELSE checkpoints.{name} END"
        for name in _BEFORE
    ),
)
# Writes of sessions in a workspace: files, times of calls, accepted contents.
KEEP_WRITTEN = insert(
    66,
    "written",
    "root, kind, name, began, ended",
    "ON CONFLICT (root, kind, name) DO UPDATE SET ended = excluded.ended",
)
BUMP_WRITTEN = Statement(
    67,
    "INSERT INTO changes (subject, number) VALUES (?, 1)"
    " ON CONFLICT (subject) DO UPDATE SET number = changes.number + 1",
)
# Connections of programs: written when they open, and again when they end.
ADD_CONNECTION = insert(
    68,
    "network_connections",
    "id, ts, host, port, verdict, code, reason, bytes_up, bytes_down, duration_s, operation_id,"
    " session_id, run_id, agent_id, user_id, project_id",
)
END_CONNECTION = Statement(
    69,
    "UPDATE network_connections SET verdict = ?, code = ?, reason = ?, bytes_up = ?,"
    " bytes_down = ?, duration_s = ? WHERE id = ?",
)
ADD_EVENT = insert(70, "events", COLUMNS, prepare=store)

ALL = (
    ADD_SESSION,
    ADD_USED_SESSION,
    ADD_RUN,
    ADD_ENDED_RUN,
    QUEUE_RUN,
    START_QUEUED,
    KEEP_BATCH,
    KEEP_PROGRESS,
    PARK_RUN,
    FINISH_RUN,
    ADD_ENTRY,
    MOVE_LEAF,
    RENAME_SESSION,
    SET_MODEL,
    SET_USAGE,
    KEEP_SAMPLE,
    KEEP_REFUSED,
    START_CALL,
    ADD_CALL,
    FINISH_CALL,
    ADD_CONFIRMATION,
    CANCEL_CONFIRMATION,
    VOID_CONFIRMATION,
    ADD_CONFIRMATION_GROUP,
    GRANT_HIT,
    RULE_HIT,
    ADD_ARTIFACT,
    ADD_CHECKPOINT,
    KEEP_WRITTEN,
    BUMP_WRITTEN,
    ADD_CONNECTION,
    END_CONNECTION,
    ADD_EVENT,
)
