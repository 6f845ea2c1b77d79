"""Audit of queries: one row for each, run or refused."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from app.core.clock import Clock, isoformat
from app.core.text import truncate
from app.db.writer import DatabaseWriter, Transaction
from app.domain.data_sources import QueryCaller
from app.governance.audit.log import AuditEntry, AuditLog

MAX_SQL_CHARS = 20_000
_ADD = (
    "INSERT INTO query_audit (ts, source_id, tool_name, agent_id, user_id, session_id, run_id,"
    " operation_id, sql, tables, rows, ms, verdict, reason)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class QueryRecord:
    """Record of one query, filled in during its run.

    Attributes:
        sql: submitted text, or for a sample, the generated one.
        verdict: `refused` until the guard has accepted it, then `allowed`.
        reason: reason of the refusal or failure; None on success, `internal` after an
            unexpected error.
    """

    source_id: str
    sql: str
    tables: tuple[str, ...] = ()
    rows: int = 0
    ms: float = 0.0
    verdict: str = "refused"
    reason: str | None = "internal"


class QueryAudit:
    """Writer of query rows, each with a line of the general audit."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    async def write(self, caller: QueryCaller, asked: QueryRecord) -> None:
        """Write one row, committed on return.

        Raises:
            StorageUnavailable: it cannot be stored.
        """
        audit = self._audit
        # Literals are arguments: recorded only if arguments are.
        keeps = audit.level in ("redacted", "full")
        sql = truncate(audit.shown(asked.sql), MAX_SQL_CHARS) if keeps else ""
        reason = audit.shown(asked.reason) if asked.reason is not None else None
        if reason is not None and not keeps:
            reason = reason.partition(":")[0]  # other levels may quote them
        row = (
            *(isoformat(self._clock.now()), asked.source_id, caller.tool_name, caller.agent_id),
            *(caller.user_id, caller.session_id, caller.run_id, caller.operation_id, sql),
            *(orjson.dumps(asked.tables).decode(), asked.rows, round(asked.ms, 3)),
            *(asked.verdict, reason),
        )

        def add(transaction: Transaction) -> None:
            transaction.execute(_ADD, row)
            audit.within(
                transaction,
                AuditEntry(
                    "sql.query",
                    actor=caller.user_id or "system",
                    subject=asked.source_id,
                    session_id=caller.session_id,
                    run_id=caller.run_id,
                    agent_id=caller.agent_id,
                    tool_name=caller.tool_name,
                    operation_id=caller.operation_id,
                    verdict="allow" if asked.verdict == "allowed" else "deny",
                    outcome="success" if asked.reason is None else "error",
                    detail={"tables": list(asked.tables), "rows": asked.rows, "reason": reason},
                ),
            )

        await self._db.transact(add)
