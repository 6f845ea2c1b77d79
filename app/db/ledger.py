"""Where everything that must survive is written: one thread, grouped commits, watermarks.

Rows appended while a commit is under way form the next one, so a busy service pays
one commit for many rows and an idle one waits for nobody. A commit that fails (disk
full, database locked) is tried again until it succeeds: nothing is dropped and the
order never changes, while callers who need durability get `StorageUnavailable` at
once instead of waiting.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from app.core.errors import StorageUnavailable
from app.db.statements import Statement

T = TypeVar("T")
Row = Sequence[Any]
log = logging.getLogger(__name__)

MAX_PENDING_ROWS = 200_000
RETRY_S = 0.5
CHECKPOINT_PAGES = 4096  # 16 MiB: a checkpoint is the tail latency, so it is rare


class Transaction(Protocol):
    """What a unit of work may do; the ledger commits when it returns, rolls back when it raises."""

    def execute(self, sql: str, row: Row = ()) -> int:
        """Run one statement; the number of rows it changed."""

    def fetch(self, sql: str, row: Row = ()) -> list[tuple[Any, ...]]:
        """Run one query."""


class Ledger(Protocol):
    """The writer. All methods are called on the event loop's thread."""

    def append(self, statement: Statement, row: Row) -> int:
        """Queue one row for the next commit; the watermark that will cover it.

        Raises:
            StorageUnavailable: commits have failed for so long that the queue is full.
        """

    async def durable(self) -> None:
        """Wait until everything appended so far is committed.

        A commit survives the process; one with a `barrier` statement in it also survives
        power loss.

        Raises:
            StorageUnavailable: the database cannot be written at the moment.
        """

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one transaction, after everything appended so far."""

    def subscribe(self, on_commit: Callable[[int], None]) -> None:
        """Call `on_commit(watermark)` on the loop after each commit."""


@dataclass(slots=True)
class _Batch:
    mark: int
    rows: dict[Statement, list[Row]]


@dataclass(slots=True)
class _Work:
    function: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    mark: int = 0


@dataclass(slots=True)
class _Connection:
    """`Transaction` over sqlite3."""

    raw: sqlite3.Connection
    full: bool = field(default=False)

    def execute(self, sql: str, row: Row = ()) -> int:
        return self.raw.execute(sql, row).rowcount

    def fetch(self, sql: str, row: Row = ()) -> list[tuple[Any, ...]]:
        return self.raw.execute(sql, row).fetchall()

    def synchronous(self, *, full: bool) -> None:
        if full != self.full:
            self.raw.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self.full = full


class SqliteLedger:
    """`Ledger` on one SQLite file in WAL mode."""

    def __init__(self, path: Path, *, busy_timeout_s: float = 5.0) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._rows: dict[Statement, list[Row]] = {}
        self._mark = 0
        self._handed_over = 0
        self._committed = 0
        self._in_flight = 0
        self._scheduled = False
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._listeners: list[Callable[[int], None]] = []
        self._error: StorageUnavailable | None = None
        self._queue: queue.SimpleQueue[_Batch | _Work | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def error(self) -> StorageUnavailable | None:
        """Why commits fail at the moment; None while they succeed."""
        return self._error

    async def start(self) -> None:
        """Open the file and start the writer.

        Raises:
            StorageUnavailable: the file cannot be opened.
        """
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(
            target=self._run, args=(opened,), name="ledger", daemon=True
        )
        self._thread.start()
        await opened

    async def close(self) -> None:
        """Commit what is queued and stop."""
        if self._thread is None:
            return
        self._flush()
        self._stop.set()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        # Let the writer's last call_soon_threadsafe callbacks run.
        await asyncio.sleep(0)

    def subscribe(self, on_commit: Callable[[int], None]) -> None:
        self._listeners.append(on_commit)

    def append(self, statement: Statement, row: Row) -> int:
        rows = self._rows.get(statement)
        if rows is None:
            rows = self._rows[statement] = []
        rows.append(row)
        self._mark += 1
        if not self._scheduled and not self._in_flight:
            self._schedule()
        elif self._mark - self._committed > MAX_PENDING_ROWS and self._error is not None:
            rows.pop()
            self._mark -= 1
            raise self._error
        return self._mark

    async def durable(self) -> None:
        if self._committed >= self._mark:
            return
        if self._error is not None:
            raise self._error
        assert self._loop is not None
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append((self._mark, future))
        await future

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        if self._error is not None:
            raise self._error
        assert self._loop is not None
        self._flush()
        future: asyncio.Future[T] = self._loop.create_future()
        self._put(_Work(work, future))
        return await future

    # -- on the loop ------------------------------------------------------------------

    def _schedule(self) -> None:
        assert self._loop is not None
        self._scheduled = True
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if self._mark > self._handed_over:
            self._handed_over = self._mark
            batch = _Batch(self._mark, self._rows)
            self._rows = {}
            self._put(batch)

    def _put(self, item: _Batch | _Work) -> None:
        self._in_flight += 1
        self._queue.put(item)

    def _done(self, item: _Batch | _Work) -> None:
        self._in_flight -= 1
        self._error = None
        if isinstance(item, _Batch):
            self._committed = item.mark
            while self._waiters and self._waiters[0][0] <= item.mark:
                future = self._waiters.popleft()[1]
                if not future.done():
                    future.set_result(None)
            for listener in self._listeners:
                listener(item.mark)
        if not self._in_flight:
            self._flush()

    def _failing(self, error: StorageUnavailable) -> None:
        self._error = error
        while self._waiters:
            future = self._waiters.popleft()[1]
            if not future.done():
                future.set_exception(error)

    # -- on the writer's thread -------------------------------------------------------

    def _run(self, opened: asyncio.Future[None]) -> None:
        assert self._loop is not None
        try:
            connection = self._open()
        except sqlite3.Error as error:
            self._loop.call_soon_threadsafe(opened.set_exception, unavailable(error, self._path))
            return
        self._loop.call_soon_threadsafe(opened.set_result, None)
        try:
            while (item := self._queue.get()) is not None:
                if isinstance(item, _Batch):
                    self._write(connection, item)
                else:
                    self._work(connection, item)
        finally:
            connection.raw.close()

    def _open(self) -> _Connection:
        raw = sqlite3.connect(self._path, timeout=self._busy_timeout_s, isolation_level=None)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = NORMAL")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        return _Connection(raw)

    def _write(self, connection: _Connection, batch: _Batch) -> None:
        while True:
            try:
                commit_rows(connection, batch.rows)
            except sqlite3.IntegrityError:
                commit_one_by_one(connection, batch.rows)
            except sqlite3.Error as error:
                log.exception("commit failed; trying again")
                self._call(self._failing, unavailable(error, self._path))
                if self._stop.wait(RETRY_S):
                    return
                continue
            self._call(self._done, batch)
            return

    def _work(self, connection: _Connection, work: _Work) -> None:
        try:
            connection.synchronous(full=True)
            connection.raw.execute("BEGIN IMMEDIATE")
            try:
                result = work.function(connection)
            except BaseException:
                connection.raw.execute("ROLLBACK")
                raise
            connection.raw.execute("COMMIT")
        except sqlite3.Error as error:
            self._call(_fail, work.future, unavailable(error, self._path))
        except Exception as error:  # noqa: BLE001 - handed to the caller, whatever it is
            self._call(_fail, work.future, error)
        else:
            self._call(_resolve, work.future, result)
        self._call(self._done, work)

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)


def commit_rows(connection: _Connection, rows: dict[Statement, list[Row]]) -> None:
    """Write all `rows` in one transaction, statement by statement in their fixed order."""
    connection.synchronous(full=any(statement.barrier for statement in rows))
    raw = connection.raw
    raw.execute("BEGIN IMMEDIATE")
    try:
        for statement in sorted(rows, key=lambda item: item.order):
            raw.executemany(statement.sql, rows[statement])
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def commit_one_by_one(connection: _Connection, rows: dict[Statement, list[Row]]) -> None:
    """Keep every row that fits: one row that breaks a constraint must not hold up the rest."""
    for statement in sorted(rows, key=lambda item: item.order):
        for row in rows[statement]:
            try:
                connection.raw.execute(statement.sql, row)
            except sqlite3.IntegrityError:
                log.exception("row refused by the database", extra={"sql": statement.sql})


def unavailable(error: sqlite3.Error, path: Path) -> StorageUnavailable:
    """The database's error as ours: what happened and what to do."""
    text = str(error)
    if "full" in text:
        fix = "free disk space; nothing is lost, writing goes on by itself"
    elif "locked" in text or "busy" in text:
        fix = "another process holds the database; writing goes on when it lets go"
    else:
        fix = "check that the data directory exists and is writable"
    return StorageUnavailable(f"Database cannot be written ({text}): {fix}", database=path.name)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)
