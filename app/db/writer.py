"""Database writer: one thread, grouped commits, watermarks.

Rows appended during a commit form the next one, so a busy service pays one commit for many rows. An
idle one gathers the rows of a few turns of the loop, and thus of a short call; after a commit of
many rows the next one is briefly delayed. Neither happens while a caller waits for the commit. A
failed commit (disk full, database locked) is retried until it succeeds: nothing is dropped and the
order never changes, while callers who need durability get `StorageUnavailable` immediately.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from app.db.commits import (
    SqliteTransaction,
    bind_plainly,
    commit_batch,
    lost,
    transaction,
    unavailable,
    write_ahead,
)
from app.db.file_identity import DatabaseFiles, DatabaseLost
from app.db.statements import Statement

T = TypeVar("T")
Row = Sequence[Any]
log = logging.getLogger(__name__)

MAX_PENDING_ROWS = 200_000
RELEASED_AT_ONCE = 8
# While waiters of a commit resume, their next rows are collected up to this number: 64 producers
# that wait for each event pay one commit instead of five to eight.
GATHERED_ROWS = 64
# After this many rows in one commit, the next is delayed by this many seconds, or until it has as
# many rows: a commit costs as much as dozens of rows, whatever its size.
BUSY_ROWS = 32
LINGER_S = 0.004
LINGER_ROWS = 1024
# An idle writer gathers rows during this many turns of the loop, for this many seconds at most: a
# commit and the pages that it shares with the next one cost more than the rows.
GATHER_TURNS = 8
GATHER_S = 0.002
RETRY_S = 0.5
JOURNAL_BYTES = 64 << 20  # space of the journal is returned after one large commit
# SQLite's 2 MiB do not hold the inner pages of the indexes of a large database. Used only as far as
# the database is that large.
CACHE_KIB = 32 << 10
CHECKPOINT_PAGES = 4096  # 16 MiB: a checkpoint determines the tail latency, so it is rare


class Transaction(Protocol):
    """Operations of a unit of work; committed on return, rolled back on an exception."""

    def execute(self, sql: str, row: Row = ()) -> int:
        """Run one statement; return the number of changed rows."""

    def fetch(self, sql: str, row: Row = ()) -> list[tuple[Any, ...]]:
        """Run one query."""


class DatabaseWriter(Protocol):
    """Database writer. All methods are called on the event loop's thread."""

    @property
    def watermarks(self) -> tuple[int, int]:
        """Watermarks of the last appended and the last committed row."""

    def append(self, statement: Statement, row: Row) -> int:
        """Queue one row for the next commit; return the watermark that covers it.

        Raises:
            StorageUnavailable: commits have failed for so long that the queue is full.
        """

    async def flush(self) -> None:
        """Wait until everything appended so far is committed.

        A commit survives the process; one with a `barrier` statement also survives power loss.

        Raises:
            StorageUnavailable: the database is currently not writable.
        """

    async def flush_with_retry(self) -> None:
        """Wait like `flush`, but until the database is writable again.

        For work already started: refusing it would be wrong, and a retry would run it twice.
        """

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one transaction, after everything appended so far."""

    def subscribe(self, on_commit: Callable[[int], None]) -> None:
        """Call `on_commit(watermark)` on the loop after each commit."""


@dataclass(slots=True)
class _WriteBatch:
    mark: int
    rows: dict[Statement, list[Row]]


@dataclass(slots=True, eq=False)
class _Work:
    """Unit of work. Taking the lock decides: the writer runs it, or the loop gives up."""

    function: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    taken: threading.Lock = field(default_factory=threading.Lock)


class _Look:
    """Check of the files, in order with the writes."""


_Item = _WriteBatch | _Work | _Look


class SqliteWriter:
    """`DatabaseWriter` on one SQLite file in WAL mode."""

    def __init__(self, path: Path, *, busy_timeout_s: float = 5.0) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._rows: dict[Statement, list[Row]] = {}
        self._mark = 0
        self._handed_over = 0
        self._committed = 0
        self._in_flight = 0
        self._scheduled: asyncio.Handle | None = None
        self._lingers = False
        self._gather_until = 0.0
        self._is_busy = False
        self._is_releasing = False
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._works: deque[_Work] = deque()
        self._listeners: list[Callable[[int], None]] = []
        self._error: StorageUnavailable | None = None
        self._files = DatabaseFiles(path)
        self._is_lost = False
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def watermarks(self) -> tuple[int, int]:
        return self._mark, self._committed

    @property
    def error(self) -> StorageUnavailable | None:
        """Reason why commits currently fail, or None."""
        return self._error

    @property
    def is_lost(self) -> bool:
        """Return whether the file at the path is not the one being written."""
        return self._is_lost

    def look(self) -> None:
        """Check whether the files still exist; `error` and `is_lost` are updated shortly after."""
        if self._thread is not None and not self._in_flight:
            self._put(_Look())

    async def mark(self) -> None:
        """Write a number unique to this run into the file's header.

        For the one service of a database; a second writer would look like a foreign database.

        Raises:
            StorageUnavailable: the database is currently not writable.
        """
        number = secrets.randbits(31)

        def write(transaction: Transaction) -> None:
            ((former,),) = transaction.fetch("PRAGMA user_version")
            self._files.mark(former, number)
            transaction.execute(f"PRAGMA user_version = {number}")

        await self.transact(write)

    async def start(self) -> None:
        """Open the file and start the writer.

        Raises:
            StorageUnavailable: the file cannot be opened.
        """
        self._loop = asyncio.get_running_loop()
        self._error = None
        self._stop.clear()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(
            target=self._run, args=(opened,), name="database-writer", daemon=True
        )
        self._thread.start()
        await opened

    async def close(self) -> None:
        """Commit queued rows and stop."""
        if self._thread is None:
            return
        self._flush()
        self._stop.set()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        # Let the writer's last call_soon_threadsafe callbacks run.
        await asyncio.sleep(0)
        self._failing(StorageUnavailable("The database is closed", database=self._path.name))

    def subscribe(self, on_commit: Callable[[int], None]) -> None:
        self._listeners.append(on_commit)

    def append(self, statement: Statement, row: Row) -> int:
        rows = self._rows.get(statement)
        if rows is None:
            rows = self._rows[statement] = []
        rows.append(row)
        self._mark += 1
        if not self._scheduled and not self._in_flight:
            if not self._is_releasing or self._mark - self._handed_over >= GATHERED_ROWS:
                self._schedule()
        elif self._lingers and self._mark - self._handed_over >= LINGER_ROWS:
            self._hurry()
        elif self._mark - self._committed > MAX_PENDING_ROWS and self._error is not None:
            rows.pop()
            self._mark -= 1
            raise self._error
        return self._mark

    async def flush(self) -> None:
        if self._committed >= self._mark:
            return
        if self._error is not None:
            raise self._error
        assert self._loop is not None
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append((self._mark, future))
        if self._lingers:
            self._hurry()
        await future

    async def flush_with_retry(self) -> None:
        while True:
            try:
                return await self.flush()
            except StorageUnavailable:
                if self._thread is None:
                    raise
                await asyncio.sleep(RETRY_S)

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        if self._error is not None:
            raise self._error
        assert self._loop is not None
        self._flush()
        future: asyncio.Future[T] = self._loop.create_future()
        queued = _Work(work, future)
        self._works.append(queued)
        self._put(queued)
        return await future

    # -- on the loop ------------------------------------------------------------------

    def _schedule(self) -> None:
        assert self._loop is not None
        self._lingers = not self._waiters
        if not self._lingers:
            self._scheduled = self._loop.call_soon(self._flush)
        elif self._is_busy:
            self._scheduled = self._loop.call_later(LINGER_S, self._flush)
        else:
            self._gather_until = self._loop.time() + GATHER_S
            self._scheduled = self._loop.call_soon(self._gather, GATHER_TURNS)

    def _gather(self, turns: int) -> None:
        """Commit pending rows after this many more turns of the loop."""
        assert self._loop is not None
        if turns and self._loop.time() < self._gather_until:
            self._scheduled = self._loop.call_soon(self._gather, turns - 1)
        else:
            self._flush()

    def _hurry(self) -> None:
        """Commit pending rows after this turn of the loop."""
        assert self._loop is not None
        assert self._scheduled is not None
        self._scheduled.cancel()
        self._lingers = False
        self._scheduled = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
            self._lingers = False
        if self._mark > self._handed_over:
            self._is_busy = self._mark - self._handed_over >= BUSY_ROWS
            self._handed_over = self._mark
            batch = _WriteBatch(self._mark, self._rows)
            self._rows = {}
            self._put(batch)

    def _put(self, item: _Item) -> None:
        self._in_flight += 1
        self._queue.put(item)

    def _done(self, item: _Item) -> None:
        self._error, self._is_lost = None, False
        self._ended(item)

    def _ended(self, item: _Item) -> None:
        self._in_flight -= 1
        try:
            if isinstance(item, _WriteBatch):
                self._committed = item.mark
                if not self._is_releasing:
                    self._release()
                for listener in self._listeners:
                    listener(item.mark)
            elif isinstance(item, _Work):
                self._works.remove(item)
        finally:
            # Whatever a listener did, rows appended meanwhile must be committed.
            if not self._in_flight and not self._is_releasing:
                self._go_on()

    def _go_on(self) -> None:
        """Commit rows appended meanwhile."""
        if self._waiters or not self._is_busy:
            self._flush()
        elif self._mark > self._handed_over and not self._scheduled:
            self._schedule()

    def _release(self) -> None:
        """Resume waiters of committed rows, a few in each turn of the loop.

        Hundreds may wait for one commit, and each continues with work.
        """
        for _ in range(RELEASED_AT_ONCE):
            if not self._waiters or self._waiters[0][0] > self._committed:
                self._released()
                return
            _resolve(self._waiters.popleft()[1], None)
        assert self._loop is not None
        self._is_releasing = True
        self._loop.call_soon(self._release)

    def _released(self) -> None:
        """Commit the rows collected while all waiters resumed."""
        if self._is_releasing:
            self._is_releasing = False
            if not self._scheduled and not self._in_flight:
                # After the resumed waiters, whose rows belong to this commit.
                self._schedule()

    def _lost(self, error: StorageUnavailable) -> None:
        self._is_lost = True
        self._failing(error)

    def _failing(self, error: StorageUnavailable) -> None:
        self._error = error
        while self._waiters:
            mark, future = self._waiters.popleft()
            if mark <= self._committed:
                _resolve(future, None)
            else:
                _fail(future, error)
        for work in self._works:
            if work.taken.acquire(blocking=False):
                _fail(work.future, error)

    # -- on the writer's thread -------------------------------------------------------

    def _run(self, opened: asyncio.Future[None]) -> None:
        assert self._loop is not None
        try:
            connection = self._open()
        except sqlite3.Error as error:
            self._loop.call_soon_threadsafe(opened.set_exception, unavailable(error, self._path))
            return
        self._files.opened()
        self._loop.call_soon_threadsafe(opened.set_result, None)
        try:
            while (item := self._queue.get()) is not None:
                if isinstance(item, _WriteBatch):
                    self._write(connection, item)
                elif isinstance(item, _Work):
                    self._work(connection, item)
                else:
                    self._look(connection, item)
        finally:
            connection.raw.close()
            self._files.closed()

    def _open(self) -> SqliteTransaction:
        bind_plainly()
        raw = sqlite3.connect(self._path, timeout=self._busy_timeout_s, isolation_level=None)
        write_ahead(raw, self._busy_timeout_s)
        raw.execute("PRAGMA synchronous = NORMAL")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        raw.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
        raw.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return SqliteTransaction(raw)

    def _write(self, connection: SqliteTransaction, batch: _WriteBatch) -> None:
        is_committed = False
        while True:
            with ErrorBoundary() as held:
                self._files.check()
                if not is_committed:
                    commit_batch(connection, batch.rows)
                    is_committed = True
                    # Rows written to a removed file are never reported as committed.
                    self._files.check()
            if held.error is None:
                self._call(self._done, batch)
                return
            if isinstance(held.error, DatabaseLost):
                self._tell_lost(connection, held.error)
            else:
                if self._error is None:
                    log.error("commit failed; retrying until it succeeds", exc_info=held.error)
                self._call(self._failing, unavailable(held.error, self._path))
            if self._stop.wait(RETRY_S):
                return

    def _look(self, connection: SqliteTransaction, look: _Look) -> None:
        try:
            self._files.check()
            if self._files.awaits_mark:
                connection.checkpoint()
        except DatabaseLost as error:
            self._tell_lost(connection, error)
            self._call(self._ended, look)
        else:
            self._call(self._done, look)

    def _tell_lost(self, connection: SqliteTransaction, error: DatabaseLost) -> None:
        is_news = not self._is_lost
        loss = lost(error, self._path, self._files.rescue(connection.raw))
        if is_news:
            log.critical("%s", loss.message)
        self._call(self._lost, loss)

    def _work(self, connection: SqliteTransaction, work: _Work) -> None:
        if not work.taken.acquire(blocking=False):
            self._call(self._done, work)
            return
        result = None
        with ErrorBoundary() as held:
            self._files.check()
            with transaction(connection, full=True):
                result = work.function(connection)
            self._files.check()
        if isinstance(held.error, DatabaseLost):
            self._tell_lost(connection, held.error)
            self._call(_fail, work.future, lost(held.error, self._path, self._files.rescued))
            self._call(self._ended, work)
            return
        if held.error is None:
            self._call(_resolve, work.future, result)
        elif isinstance(held.error, sqlite3.Error):
            self._call(_fail, work.future, unavailable(held.error, self._path))
        else:
            self._call(_fail, work.future, held.error)
        self._call(self._done, work)

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)
