"""Memory in PostgreSQL, which several installations may share."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from app.core.errors import ConfigurationError, StorageUnavailable
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.knowledge.memory.postgres_index import SCHEMA, PostgresIndex
from app.knowledge.memory.reader import Query

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
log = logging.getLogger(__name__)

CONNECT_S = 10
# A silent network must not block a thread until TCP times out.
_PATIENCE: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
KEPT_READERS = 4
# Serializes writers of all installations, because scopes count their memories.
_LOCK = 7_126_354_001
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SESSION = (
    "SET statement_timeout = '30s'",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '60s'",
)


@dataclass(slots=True)
class _PostgresTransaction:
    """`Transaction` over psycopg, with its audit lines."""

    raw: Connection[Any]
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def execute(self, sql: str, row: Sequence[Any] = ()) -> int:
        return self.raw.execute(_marked(sql), _fit(row)).rowcount

    def fetch(self, sql: str, row: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.raw.execute(_marked(sql), _fit(row)).fetchall()


class PostgresStorage:
    """`Storage` in a separate database; its tables are created at first use.

    The audit stays in the service's database: its lines are written before the change is committed,
    so that no change lacks one. A failed commit adds a correcting line.
    """

    def __init__(self, address: str, db: DatabaseWriter, audit: AuditLog) -> None:
        self._address = address
        self._db = db
        self._audit = audit
        self.index = PostgresIndex()
        self._writer: Connection[Any] | None = None
        self._readers: deque[Connection[Any]] = deque()
        self._turn = asyncio.Lock()
        self._work: set[asyncio.Task[Any]] = set()
        self._is_ready = False

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """See `Storage.transact`."""
        return await self._to_its_end(self._transact(work))

    async def read(self, work: Callable[[Query], T]) -> T:
        """See `Storage.read`."""
        return await self._to_its_end(asyncio.to_thread(self._read, work))

    def note(self, transaction: Transaction, kind: str, **facts: Any) -> None:
        """See `Storage.note`."""
        assert isinstance(transaction, _PostgresTransaction)
        transaction.notes.append((kind, facts))

    async def close(self) -> None:
        """Wait for active work, and close every connection."""
        if self._work:
            await asyncio.wait(self._work)
        writer, self._writer = self._writer, None
        for connection in filter(None, (writer, *self._readers)):
            await asyncio.to_thread(connection.close)
        self._readers.clear()

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work to its end even if the caller is cancelled; `close` waits for it."""
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return await asyncio.shield(task)

    async def _transact(self, work: Callable[[Transaction], T]) -> T:
        async with self._turn:
            answer, notes = await asyncio.to_thread(self._begin, work)
            if not notes:
                await asyncio.to_thread(self._end, "COMMIT")
                return answer
            try:
                await self._db.transact(lambda transaction: self._tell(transaction, notes))
            except BaseException:
                await asyncio.to_thread(self._end, "ROLLBACK")
                raise
            try:
                await asyncio.to_thread(self._end, "COMMIT")
            except StorageUnavailable:
                kinds = [kind for kind, _ in notes]
                self._audit.record(
                    AuditEntry("memory.undone", actor="system", detail={"kinds": kinds})
                )
                raise
            return answer

    def _tell(self, transaction: Transaction, notes: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for kind, facts in notes:
            self._audit.within(transaction, AuditEntry(kind, **facts))

    def _begin(
        self, work: Callable[[Transaction], T]
    ) -> tuple[T, list[tuple[str, dict[str, Any]]]]:
        import psycopg

        try:
            self._writer = self._begun(self._writer, "BEGIN")
            writing = _PostgresTransaction(self._writer)
            self._writer.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            return work(writing), writing.notes
        except psycopg.Error as error:
            self._drop_writer()
            raise _unavailable(error) from None
        except BaseException:
            if self._writer is not None:
                self._end("ROLLBACK")
            raise

    def _end(self, how: str) -> None:
        import psycopg

        assert self._writer is not None
        try:
            self._writer.execute(how)
        except psycopg.Error as error:
            self._drop_writer()
            raise _unavailable(error) from None

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _read(self, work: Callable[[Query], T]) -> T:
        import psycopg

        connection: Connection[Any] | None = None
        try:
            connection = self._begun(self._idle(), _READ)
            answer = work(_PostgresTransaction(connection).fetch)
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if connection is not None:
                connection.close()
            raise _unavailable(error) from None
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        if len(self._readers) < KEPT_READERS:
            self._readers.append(connection)
        else:
            connection.close()
        return answer

    def _idle(self) -> Connection[Any] | None:
        try:
            return self._readers.pop()
        except IndexError:
            return None

    def _begun(self, connection: Connection[Any] | None, begin: Any) -> Connection[Any]:
        """Return a connection in a transaction; a reused one may have died meanwhile."""
        import psycopg

        if connection is not None and not connection.closed:
            try:
                connection.execute(begin)
            except psycopg.OperationalError:
                connection.close()
            else:
                return connection
        fresh = self._connect()
        fresh.execute(begin)
        return fresh

    def _connect(self) -> Connection[Any]:
        import psycopg

        connection = psycopg.connect(self._address, autocommit=True, **_PATIENCE)
        for statement in _SESSION:
            connection.execute(statement)
        if not self._is_ready:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                for statement in SCHEMA:
                    connection.execute(statement)
            self._is_ready = True
        return connection


def secrets_of(address: str) -> list[str]:
    """Return the address and its password.

    Raises:
        ConfigurationError: it is not an address of PostgreSQL; the message does not contain it.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        password = conninfo_to_dict(address).get("password")
    except psycopg.Error:
        raise ConfigurationError(
            "TOLLGATE_MEMORY__POSTGRES is not a PostgreSQL address: use "
            "postgresql://user:password@host/database"
        ) from None
    return [address, *([str(password)] if password else [])]


def why_unusable(address: str) -> str | None:
    """Return why the database is unusable, without the password, or None. Blocks."""
    import psycopg

    try:
        secrets = secrets_of(address)
    except ConfigurationError:
        return "it is not a PostgreSQL address"
    try:
        with psycopg.connect(address, connect_timeout=CONNECT_S) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error as error:
        message = " ".join(str(error).split())
        for secret in secrets:
            message = message.replace(secret, "…")
        return message[:300]
    return None


def _marked(sql: str) -> Any:
    """Convert our placeholders to psycopg's; statements of memory have no others."""
    return sql.replace("%", "%%").replace("?", "%s")


def _fit(row: Sequence[Any]) -> tuple[Any, ...]:
    """Replace NUL, which PostgreSQL does not support."""
    return tuple(item.replace("\0", "\ufffd") if isinstance(item, str) else item for item in row)


def _unavailable(error: Exception) -> StorageUnavailable:
    # The message names the server, which is private to the operator.
    log.error("the memory database does not respond: %s", error)
    return StorageUnavailable(
        "The memory database is currently unavailable: try again; the operator can "
        "find the reason in the service's log"
    )
