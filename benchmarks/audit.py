"""Audit: cost of a row, and the share of the service's loop.

The subject is the line of a plain call: built from the call's data, chained by the writer thread,
committed. The floor is sqlite3 in one thread with the same pragmas and table, writing prepared rows
without a chain in groups of equal size.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from app.core.clock import SystemClock, stamp
from app.core.redaction import Redactor
from app.db.engine import Database
from app.db.schema import ensure_schema
from app.db.writer import CHECKPOINT_PAGES, SqliteWriter
from app.execution.call_audit import CallAudit
from app.governance.audit.chain import ADD_AUDIT
from app.governance.audit.log import AuditLog
from app.governance.audit.verify import verify
from app.policy.decision import ALLOW
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Stopwatch,
    interleave,
    run,
)

GROUP = 64
ROWS = 20_000
_ARGUMENTS = '{"path":"src/app/main.py","offset":1,"limit":200,"pattern":"def main"}'
_DETAIL = f'{{"caller":"agent","tool_call_id":"call_0123456789","ms":1.234,"args":{_ARGUMENTS}}}'


async def _compare(scale: Scale) -> Compared:
    groups = scale.count(ROWS // GROUP)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        paths = Path(folder) / "subject.db", Path(folder) / "floor.db"
        for path in paths:
            await asyncio.to_thread(ensure_schema, path)
        db = SqliteWriter(paths[0])
        await db.start()
        database = Database(paths[0])
        seq = 0

        async def subject() -> Figures:
            figures = await _record(db, groups)
            began = time.perf_counter()
            found = await verify(database)
            assert found.ok, found.broken
            return {**figures, "verify": (time.perf_counter() - began) * 1e6 / found.rows}

        async def floor() -> Figures:
            nonlocal seq
            seq += groups * GROUP
            return {**_write(paths[1], groups, seq), "loop": 0.0, "verify": 0.0}

        try:
            return await interleave(scale.rounds, subject, floor)
        finally:
            await database.close()
            await db.close()


async def _record(db: SqliteWriter, groups: int) -> Figures:
    audit = CallAudit(AuditLog(db, SystemClock(), Redactor()))
    call, outcome = _call(), cast("Any", _OUTCOME)
    on_loop = 0.0
    watch = Stopwatch()
    for _ in range(groups):
        began = time.perf_counter()
        for _ in range(GROUP):
            audit.finished(call, outcome)
        on_loop += time.perf_counter() - began
        await db.flush()
    return {**watch.per(groups * GROUP), "loop": on_loop * 1e6 / (groups * GROUP)}


_OUTCOME = SimpleNamespace(
    execution_time=0.001234,
    status="success",
    cached=False,
    duplicate_of=None,
    result=SimpleNamespace(success=True, code=None),
)


def _call() -> Any:
    """Return the part of a call that its line needs."""
    context = SimpleNamespace(
        caller="agent",
        user_id="ann",
        run_id="run_0123456789abcdef",
        agent_id="writer",
        log=SimpleNamespace(session_id="ses_0123456789abcdef"),
    )
    return SimpleNamespace(
        refusal=None,
        decision=ALLOW,
        asked=None,
        ask_reasons=(),
        context=context,
        request=SimpleNamespace(id="call_0123456789"),
        arguments_json=_ARGUMENTS,
        tool_name="read_file",
        operation_id="op_7f3a9c000001",
        entry=object(),
    )


def _write(path: Path, groups: int, before: int) -> Figures:
    ids = ("ses_0123456789abcdef", "run_0123456789abcdef", "writer", "read_file")
    moment, digest = stamp(time.time()), "0" * 64
    tail = ("op_7f3a9c000001", "allow", "success", _DETAIL, digest, digest)
    ready = [
        [
            (before + group * GROUP + row, moment, "call.finished", "ann", None, *ids, *tail)
            for row in range(GROUP)
        ]
        for group in range(groups)
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        watch = Stopwatch()
        for rows in ready:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(ADD_AUDIT.sql, rows)
            connection.execute("COMMIT")
        return watch.per(groups * GROUP)


def _rows(scale: Scale) -> list[Result]:
    compared = run(_compare(scale))
    return [
        compared.result("audit_row", "CPU us/row"),
        compared.result("audit_row_loop", "us on the loop/row", "loop"),
        compared.result("audit_verify", "us/row", "verify"),
    ]


BENCHMARKS = (
    Benchmark(
        ("audit_row", "audit_row_loop", "audit_verify"),
        f"calls' rows in groups of {GROUP}; floor: sqlite3, no chain (none for loop and verify)",
        _rows,
        {"audit_row": 4},
    ),
)
