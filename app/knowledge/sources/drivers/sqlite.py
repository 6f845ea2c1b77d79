"""SQLite files, read-only, each statement in a stoppable thread.

Four protections: the file is opened for reading, the connection refuses writes, an authorizer
allows only reading of allowed columns, and a budget ends late statements.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from app.core.errors import ToolFailed
from app.knowledge.sources.drivers import causes
from app.knowledge.sources.drivers.failures import failed, timed_out, unavailable, without_address
from app.knowledge.sources.drivers.protocol import (
    ConnectionTarget,
    Rows,
    ServerFacts,
    StatementLimits,
    TableFacts,
)
from app.knowledge.sources.drivers.shielded import surely
from app.knowledge.sources.drivers.sqlite_catalog import read_tables
from app.knowledge.sources.drivers.values import Collector
from app.knowledge.sources.model import TableName

_STEPS = 1000
_MAX_VALUE_BYTES = 10_000_000
_MAX_SQL_BYTES = 1_000_000
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


class SqliteDriver:
    """`Driver` for SQLite files in the operator's folders."""

    async def connect(self, target: ConnectionTarget) -> SqliteConnection:
        path = await asyncio.to_thread(checked_file, target)
        try:
            raw = await asyncio.to_thread(_open, path)
        except sqlite3.Error:
            raise unavailable(target, causes.NO_SQLITE) from None
        return SqliteConnection(raw, target)


def checked_file(target: ConnectionTarget) -> Path:
    """Return the resolved path of the file if its location is allowed.

    Raises:
        ToolFailed: code `source_unavailable`.
    """
    try:
        path = Path(target.address.file or "").resolve(strict=True)
    except (OSError, ValueError):
        raise unavailable(target, causes.NO_FILE) from None
    folders = [Path(folder).resolve() for folder in target.sqlite_folders]
    hidden = [Path(folder).resolve() for folder in target.hidden_folders]
    if not any(map(path.is_relative_to, folders)) or any(map(path.is_relative_to, hidden)):
        raise unavailable(target, causes.OUTSIDE)
    if not path.is_file():
        raise unavailable(target, causes.NO_FILE)
    return path


def _open(path: Path) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode=ro"
    # Used by one thread at a time, but not always the same.
    raw = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None, timeout=5)
    try:
        raw.text_factory = lambda data: data.decode("utf-8", "replace")
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        raw.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _MAX_SQL_BYTES)
        raw.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # The file's own schema is not trusted to call functions with side effects.
        raw.execute("PRAGMA trusted_schema = OFF")
        raw.execute("PRAGMA query_only = ON")
        raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        raw.close()
        raise
    return raw


class SqliteConnection:
    """`SourceConnection` to one SQLite file."""

    def __init__(self, raw: sqlite3.Connection, target: ConnectionTarget) -> None:
        self._raw = raw
        self._target = target
        self._usable = True

    @property
    def is_usable(self) -> bool:
        return self._usable

    async def run(self, sql: str, bounds: StatementLimits) -> Rows:
        late = threading.Event()
        loop = asyncio.get_running_loop()
        timer = loop.call_later(bounds.timeout_s, late.set)
        work = asyncio.create_task(asyncio.to_thread(self._run, sql, bounds, late))
        try:
            async with asyncio.timeout(bounds.deadline_s):
                return await asyncio.shield(work)
        except TimeoutError:
            await surely(self._stop(work, late))
            raise timed_out(bounds.timeout_s) from None
        except asyncio.CancelledError:
            await surely(self._stop(work, late))
            raise
        finally:
            timer.cancel()

    async def tables(self, wanted: Sequence[TableName] | None, limit: int) -> list[TableFacts]:
        try:
            return await asyncio.to_thread(read_tables, self._raw, wanted, limit)
        except sqlite3.Error:
            raise unavailable(self._target, causes.NO_SQLITE) from None

    async def facts(self) -> ServerFacts:
        return ServerFacts(f"SQLite {sqlite3.sqlite_version}", can_write=False, tls=False)

    async def close(self) -> None:
        self._usable = False
        await asyncio.to_thread(self._raw.close)

    def _run(self, sql: str, bounds: StatementLimits, late: threading.Event) -> Rows:
        raw = self._raw
        raw.set_authorizer(_authorizer(bounds))
        raw.set_progress_handler(late.is_set, _STEPS)
        try:
            cursor = raw.execute(sql)
            if cursor.description is None:
                raise failed("it returns no result")
            collector = Collector([column[0] for column in cursor.description], bounds)
            # One by one: each value may have the maximum size.
            while row := cursor.fetchone():
                if not collector.add(row):
                    break
            cursor.close()
            return collector.rows()
        except (sqlite3.Error, sqlite3.Warning) as error:
            if late.is_set():
                raise timed_out(bounds.timeout_s) from None
            raise self._problem(error) from None
        finally:
            raw.set_authorizer(None)
            raw.set_progress_handler(None, 0)

    async def _stop(self, work: asyncio.Task[Rows], late: threading.Event) -> None:
        """End the running statement; its thread has finished on return."""
        late.set()
        self._raw.interrupt()
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # no other code uses it

    def _problem(self, error: BaseException) -> ToolFailed:
        message = str(error)
        if "not authorized" in message or "prohibited" in message:
            return failed("it reads data that the data source does not allow")
        if "too big" in message:
            return failed("a value is too large")
        return failed(without_address(self._target, message))


def _authorizer(bounds: StatementLimits) -> Authorizer:
    """Return an authorizer that only allows reading the allowed columns."""
    allowed = None
    if bounds.readable is not None:
        allowed = {
            item.table.folded: {column.lower() for column in item.columns} | {"", "rowid"}
            for item in bounds.readable
        }

    def authorize(
        action: int, table: str | None, column: str | None, schema: str | None, _: str | None
    ) -> int:
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action != sqlite3.SQLITE_READ or table is None:
            return sqlite3.SQLITE_DENY
        if allowed is None:
            own = table.lower().startswith("sqlite_")
            return sqlite3.SQLITE_DENY if own else sqlite3.SQLITE_OK
        columns = allowed.get(((schema or "main").lower(), table.lower()), set())
        return sqlite3.SQLITE_OK if (column or "").lower() in columns else sqlite3.SQLITE_DENY

    return authorize
