"""Event log: durable events per second, commit latency, CPU per event.

The subject is a session's log on the database writer: an event is encoded, numbered, committed by
the writer thread, acknowledged. The floor is sqlite3 in one thread with the same pragmas, the same
table and prepared rows of as many sessions, committed in groups of the number of producers.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from app.core.clock import SystemClock, stamp
from app.core.ids import new_id
from app.db.event_rows import one
from app.db.schema import ensure_schema
from app.db.statements import ADD_EVENT
from app.db.writer import CHECKPOINT_PAGES, SqliteWriter
from app.events.log import EventLog, SessionLog
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    Stopwatch,
    interleave,
    percentile,
    run,
)

MANY = 64
EVENTS = 20_000
EVENTS_OF_ONE = 1500
BODY_BYTES = 230
_KIND = "tool_call_started"
_FIELDS = '"tool_name":"add","title":"add","args":{"a":1}}'


async def _compare(producers: int, events: int, scale: Scale, *, waits: bool) -> Compared:
    each = scale.count(events // producers)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        paths = Path(folder) / "subject.db", Path(folder) / "floor.db"
        for path in paths:
            await asyncio.to_thread(ensure_schema, path)
        db = SqliteWriter(paths[0])
        await db.start()
        try:
            events_log = EventLog(db, SystemClock())

            async def subject() -> Figures:
                if waits:
                    return await _produce(db, events_log, producers, each)
                return await _stream(db, events_log, producers, each)

            async def floor() -> Figures:
                return _write_groups(paths[1], producers, each)

            return await interleave(scale.rounds, subject, floor)
        finally:
            await db.close()


def _open(events: EventLog) -> SessionLog:
    return events.open(new_id("ses"), new_id("ep"), 0)


async def _produce(db: SqliteWriter, events: EventLog, producers: int, each: int) -> Figures:
    """Run producers that each wait for their event to be on disk before writing the next."""
    waited: list[float] = []

    async def produce(log: SessionLog) -> None:
        for _ in range(each):
            began = time.perf_counter()
            log.append(_KIND, _FIELDS)
            await db.flush()
            waited.append(time.perf_counter() - began)

    logs = [_open(events) for _ in range(producers)]
    watch = Stopwatch()
    await asyncio.gather(*(produce(log) for log in logs))
    return {**watch.per(producers * each), "p99": percentile(waited, 0.99) * 1e6}


async def _stream(db: SqliteWriter, events: EventLog, producers: int, each: int) -> Figures:
    """Write events in groups without waiting; wait only for the end."""
    logs = [_open(events) for _ in range(producers)]
    watch = Stopwatch()
    for _ in range(each):
        for log in logs:
            log.append(_KIND, _FIELDS)
        await asyncio.sleep(0)
    await db.flush()
    return watch.per(producers * each)


def _write_groups(path: Path, group: int, count: int) -> Figures:
    epoch, ts = new_id("ep"), stamp(time.time())
    body = b"x" * BODY_BYTES
    sessions = [new_id("ses") for _ in range(group)]
    groups = [
        [one(session, epoch, seq, _KIND, ts, body) for session in sessions]
        for seq in range(1, count + 1)
    ]
    waited: list[float] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        watch = Stopwatch()
        for rows in groups:
            began = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(ADD_EVENT.sql, rows)
            connection.execute("COMMIT")
            waited.append(time.perf_counter() - began)
        figures = watch.per(group * count)
    return {**figures, "p99": percentile(waited, 0.99) * 1e6}


def _many(scale: Scale) -> list[Result]:
    compared = run(_compare(MANY, EVENTS, scale, waits=True))
    return [
        compared.result("event_log", "wall us/event", "wall"),
        compared.result("event_log_cpu", "CPU us/event"),
        compared.result("event_log_p99", "us/commit", "p99"),
    ]


def _one(scale: Scale) -> list[Result]:
    compared = run(_compare(1, EVENTS_OF_ONE, scale, waits=True))
    return [
        compared.result("event_log_1", "wall us/event", "wall"),
        compared.result("event_log_1_p99", "us/commit", "p99"),
    ]


def _flow(scale: Scale) -> list[Result]:
    compared = run(_compare(MANY, EVENTS, scale, waits=False))
    return [compared.result("event_log_stream", "CPU us/event")]


BENCHMARKS = (
    Benchmark(
        ("event_log", "event_log_cpu", "event_log_p99"),
        f"{MANY} producers that wait for the disk; floor: sqlite3 in groups of {MANY}",
        _many,
        {"event_log_cpu": 3},
    ),
    Benchmark(
        ("event_log_1", "event_log_1_p99"),
        "one producer that waits for the disk; floor: sqlite3, one commit per event",
        _one,
    ),
    Benchmark(
        ("event_log_stream",),
        f"groups of {MANY} events that nobody waits for; floor: sqlite3 in groups of {MANY}",
        _flow,
        {"event_log_stream": 3},
    ),
)
