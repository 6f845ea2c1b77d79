"""Where everything that must survive is written: one thread, grouped commits, watermarks.

Rows appended while a commit is under way form the next one, so a busy service pays
one commit for many rows and an idle one waits for nobody. After a commit of many rows the
next one lingers a moment, unless somebody waits for it. A commit that fails (disk
full, database locked) is tried again until it succeeds: nothing is dropped and the
order never changes, while callers who need durability get `StorageUnavailable` at
once instead of waiting.
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
    REFUSED,
    SqliteTransaction,
    bind_plainly,
    commit_rows,
    lost,
    put_all,
    put_each,
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
# While those are let go who waited for a commit, what they write next is gathered up to so many
# rows: 64 producers that wait for each event pay one commit in place of five to eight.
GATHERED_ROWS = 64
# After so many rows in one commit the next is put off by so many seconds, or until it holds so
# many: a commit costs as much as dozens of rows, whatever it holds.
BUSY_ROWS = 32
LINGER_S = 0.004
LINGER_ROWS = 1024
RETRY_S = 0.5
JOURNAL_BYTES = 64 << 20  # what one large commit has made of the journal is given back
CHECKPOINT_PAGES = 4096  # 16 MiB: a checkpoint is the tail latency, so it is rare


class Transaction(Protocol):
    """What a unit of work may do; committed when it returns, rolled back when it raises."""

    def execute(self, sql: str, row: Row = ()) -> int:
        """Run one statement; the number of rows it changed."""

    def fetch(self, sql: str, row: Row = ()) -> list[tuple[Any, ...]]:
        """Run one query."""


class DatabaseWriter(Protocol):
    """The writer. All methods are called on the event loop's thread."""

    def append(self, statement: Statement, row: Row) -> int:
        """Queue one row for the next commit; the watermark that will cover it.

        Raises:
            StorageUnavailable: commits have failed for so long that the queue is full.
        """

    async def flush(self) -> None:
        """Wait until everything appended so far is committed.

        A commit survives the process; one with a `barrier` statement in it also survives
        power loss.

        Raises:
            StorageUnavailable: the database cannot be written at the moment.
        """

    async def flush_with_retry(self) -> None:
        """`flush`, but waiting until the database can be written again.

        For what has begun already: refusing it would be a lie, and a repeat would do it twice.
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
    """A unit of work. Whoever takes the lock decides: the writer to run it, the loop to give up."""

    function: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    taken: threading.Lock = field(default_factory=threading.Lock)


class _Look:
    """A look at the files, in turn with what is written."""


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
    def error(self) -> StorageUnavailable | None:
        """Why commits fail at the moment; None while they succeed."""
        return self._error

    @property
    def is_lost(self) -> bool:
        """Whether the file at the path is not the one that is written to."""
        return self._is_lost

    def look(self) -> None:
        """Find out whether the files are still there; `error` and `is_lost` tell a moment later."""
        if self._thread is not None and not self._in_flight:
            self._put(_Look())

    async def mark(self) -> None:
        """Write a number of this run into the file's header: no other database has it.

        For the one service of a database; a second writer would look like a foreign database.

        Raises:
            StorageUnavailable: the database cannot be written at the moment.
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
        self._lingers = self._is_busy and not self._waiters
        if self._lingers:
            self._scheduled = self._loop.call_later(LINGER_S, self._flush)
        else:
            self._scheduled = self._loop.call_soon(self._flush)

    def _hurry(self) -> None:
        """What lingers is committed after this turn of the loop."""
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
            # Whatever a listener did: what was appended meanwhile waits for nobody else.
            if not self._in_flight and not self._is_releasing:
                self._go_on()

    def _go_on(self) -> None:
        """Commit what was appended meanwhile."""
        if self._waiters or not self._is_busy:
            self._flush()
        elif self._mark > self._handed_over and not self._scheduled:
            self._schedule()

    def _release(self) -> None:
        """Let those go on who waited for what is committed: a few in each turn of the loop.

        One commit may be what hundreds wait for, and what they do next is work.
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
        """Everybody has been let go: commit what was gathered meanwhile."""
        if self._is_releasing:
            self._is_releasing = False
            if not self._scheduled and not self._in_flight:
                # After those who have just been let go, for what they write belongs to it.
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
        return SqliteTransaction(raw)

    def _write(self, connection: SqliteTransaction, batch: _WriteBatch) -> None:
        is_committed = False
        while True:
            with ErrorBoundary() as held:
                self._files.check()
                if not is_committed:
                    self._commit(connection, batch)
                    is_committed = True
                    # What went into a file that has gone is told to nobody as written.
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
        told = lost(error, self._path, self._files.rescue(connection.raw))
        if is_news:
            log.critical("%s", told.message)
        self._call(self._lost, told)

    def _commit(self, connection: SqliteTransaction, batch: _WriteBatch) -> None:
        try:
            commit_rows(connection, batch.rows, put_all)
        except REFUSED:
            commit_rows(connection, batch.rows, put_each)

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
