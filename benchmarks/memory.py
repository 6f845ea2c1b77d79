"""Memory: cost of saving and recalling with ten thousand and a hundred thousand memories.

The subject is the tools' store, with words, ranks and line numbers. The floor of a save is the same
row in one table, committed as safely; that of a recall is a search of SQLite's own index with its
own tokenizer, which finds no Chinese. Wall time, as both wait for the disk and for threads.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from app.config.secret_values import redactor_of
from app.core.clock import SystemClock
from app.db.schema import ensure_schema
from app.db.writer import SqliteWriter, Transaction
from app.domain.memory import MemoryAuthor, MemoryInput, MemoryScope, RecallQuery
from app.governance.audit.log import AuditLog
from app.knowledge.memory.repository import MemoryRepository, PreparedMemory
from app.knowledge.memory.wiring import memory_on
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    interleave,
    percentile,
    run,
)
from benchmarks.runtime import bench_settings

_SEED = 20_261_122
_CALLS = 200
_PLACE, _WRITER = MemoryScope("user", "ann"), MemoryAuthor("bench", "ann")
_BEGINNINGS, _ENDINGS = ("ser", "dep", "con", "tra"), ("ver", "loy", "ip")
_ENGLISH = [f"{first}{last}" for first in _BEGINNINGS for last in _ENDINGS]
_CHINESE = "数据库迁移脚本缓存订单报表用户喜欢会议发布时间客户合同服务器监控日志测试"
_RARE = 20_000
_WORDS = 14


def _sentence(chance: random.Random) -> str:
    words = [
        *chance.choices(_ENGLISH, k=3),
        *(f"item{chance.randrange(_RARE)}" for _ in range(_WORDS)),
        "".join(chance.choices(_CHINESE, k=8)),
    ]
    chance.shuffle(words)
    return " ".join(words)


@asynccontextmanager
async def _filled(folder: Path, texts: list[str]) -> AsyncIterator[MemoryRepository]:
    settings = bench_settings(folder)
    settings.memory.max_memories = len(texts) * 2 + 100_000
    await asyncio.to_thread(ensure_schema, settings.database_path)
    db, clock, redactor = (
        SqliteWriter(settings.database_path),
        SystemClock(),
        redactor_of(settings),
    )
    await db.start()
    try:
        audit = AuditLog(db, clock, redactor)
        store = memory_on(settings, db, clock, redactor, audit).store
        moment = "2026-11-01T00:00:00.000Z"

        def fill(transaction: Transaction) -> None:
            for text in texts:
                store.save_within(
                    transaction,
                    _PLACE,
                    PreparedMemory.of(MemoryInput(text)),
                    _WRITER,
                    moment,
                    expected=None,
                )

        await db.transact(fill)
        yield store
    finally:
        await db.close()


def _plain(path: Path, texts: list[str]) -> None:
    """Create the floor's database: one table, and SQLite's own index."""
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)")
        plain.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
        plain.executemany("INSERT INTO notes (content) VALUES (?)", ((text,) for text in texts))
        plain.executemany("INSERT INTO words (content) VALUES (?)", ((text,) for text in texts))
        plain.commit()


async def _compare(memories: int, scale: Scale, *, saves: bool) -> Compared:
    chance = random.Random(_SEED)
    texts = [_sentence(chance) for _ in range(scale.count(memories))]
    calls = scale.count(_CALLS)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        folder = Path(name)
        await asyncio.to_thread(_plain, folder / "plain.db", texts)
        async with _filled(folder / "data", texts) as store:
            plain = sqlite3.connect(folder / "plain.db", isolation_level=None)
            plain.execute("PRAGMA synchronous = FULL")

            async def subject() -> Figures:
                work = _save if saves else _recall
                waits = [await work(store, chance) for _ in range(calls)]
                return _figures(waits)

            async def floor() -> Figures:
                timed = _insert if saves else _search
                return _figures([timed(plain, chance) for _ in range(calls)])

            try:
                return await interleave(scale.rounds, subject, floor)
            finally:
                plain.close()


async def _save(store: MemoryRepository, chance: random.Random) -> float:
    began = time.perf_counter()
    await store.save(_PLACE, MemoryInput(_sentence(chance)), _WRITER, expected=None)
    return time.perf_counter() - began


async def _recall(store: MemoryRepository, chance: random.Random) -> float:
    query = _question(chance)
    began = time.perf_counter()
    found = await store.recall([_PLACE], RecallQuery(query))
    if not found.lines:
        raise RuntimeError(f"nothing was recalled for {query!r}")
    return time.perf_counter() - began


def _insert(plain: sqlite3.Connection, chance: random.Random) -> float:
    text = _sentence(chance)
    began = time.perf_counter()
    plain.execute("INSERT INTO notes (content) VALUES (?)", (text,))
    return time.perf_counter() - began


def _search(plain: sqlite3.Connection, chance: random.Random) -> float:
    words = " OR ".join(f'"{word}"' for word in _question(chance).split())
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 15"
    began = time.perf_counter()
    plain.execute(sql, (words,)).fetchall()
    return time.perf_counter() - began


def _question(chance: random.Random) -> str:
    """Return a common word, two rare ones and a pair of Chinese characters."""
    rare = [f"item{chance.randrange(_RARE)}" for _ in range(2)]
    at = chance.randrange(len(_CHINESE) - 1)
    return " ".join([chance.choice(_ENGLISH), *rare, _CHINESE[at : at + 2]])


def _figures(waits: list[float]) -> dict[str, float]:
    return {"p50": percentile(waits, 0.5) * 1e6, "p99": percentile(waits, 0.99) * 1e6}


def _measure(name: str, memories: int, *, saves: bool) -> Callable[[Scale], list[Result]]:
    def measure(scale: Scale) -> list[Result]:
        compared = run(_compare(memories, scale, saves=saves))
        unit = "wall us/save" if saves else "wall us/recall"
        return [compared.result(f"{name}_{figure}", unit, figure) for figure in ("p50", "p99")]

    return measure


def _benchmark(name: str, about: str, memories: int, *, saves: bool) -> Benchmark:
    names = (f"{name}_p50", f"{name}_p99")
    return Benchmark(names, about, _measure(name, memories, saves=saves))


BENCHMARKS = (
    _benchmark(
        "memory_save_10k",
        "a save among 10,000 memories; floor: the bare row, as durable",
        10_000,
        saves=True,
    ),
    _benchmark(
        "memory_save_100k",
        "a save among 100,000 memories; floor: the bare row, as durable",
        100_000,
        saves=True,
    ),
    _benchmark(
        "memory_recall_10k",
        "four words among 10,000 memories, ranked, with lines; floor: FTS5's own search",
        10_000,
        saves=False,
    ),
    _benchmark(
        "memory_recall_100k",
        "four words among 100,000 memories, ranked, with lines; floor: FTS5's own search",
        100_000,
        saves=False,
    ),
)
