"""PostgreSQL through psycopg, with a server-side cursor, so that only needed rows are sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from app.core.errors import ToolFailed
from app.knowledge.sources.drivers import causes
from app.knowledge.sources.drivers.causes import Cause
from app.knowledge.sources.drivers.failures import failed, timed_out, unavailable, without_address
from app.knowledge.sources.drivers.postgres_catalog import read_facts, read_tables
from app.knowledge.sources.drivers.protocol import (
    CONNECT_S,
    ConnectionTarget,
    Rows,
    ServerFacts,
    StatementLimits,
    TableFacts,
)
from app.knowledge.sources.drivers.shielded import surely
from app.knowledge.sources.drivers.values import MAX_JSON_BYTES, Collector
from app.knowledge.sources.guard.model import SESSION_SETUP
from app.knowledge.sources.model import TableName

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Error

log = logging.getLogger(__name__)

METADATA_S = 30.0
# With the largest rows, a batch takes some tens of megabytes.
_BATCH = 10
_MAX_ROW_BYTES = 8_000_000
_TOO_LARGE = "tollgate: the row is too large"
# A few characters can produce a value of a gigabyte, which would arrive completely before
# truncation. A failing cast raises the same error as a plain statement.
_BOUNDED = (
    "SELECT row_.* FROM ({sql}) AS row_ WHERE CASE WHEN"
    " octet_length(CAST(ROW(row_.*) AS text)) > {most}"
    " THEN CAST('{error}' || left(CAST(ROW(row_.*) AS text), 0) AS boolean) ELSE true END"
)
_SSL_MODES = {"verify": "verify-full", "require": "require", "off": "disable"}
# Dates are sent as ISO text.
_SESSION = (
    *SESSION_SETUP["postgres"],
    "SET default_transaction_read_only = on",
    "SET DateStyle = ISO",
    "SET IntervalStyle = iso_8601",
    "SET TimeZone = UTC",
    "SET lock_timeout = '5s'",
    "SET idle_in_transaction_session_timeout = '60s'",
)
_TIMES = ("date", "timestamp", "timestamptz", "time", "timetz", "interval")
# SQLSTATE classes about the statement: data, syntax and names, too complex.
_SHOWN = ("21", "22", "42", "54", "0A")
_NO_RIGHT = "42501"
_LATE = ("57014", "55P03")


class PostgresDriver:
    """`Driver` for PostgreSQL."""

    async def connect(self, target: ConnectionTarget) -> PostgresConnection:
        import psycopg

        try:
            async with asyncio.timeout(CONNECT_S):
                raw = await psycopg.AsyncConnection.connect(**_parameters(target))
        except TimeoutError:
            raise unavailable(target, causes.NO_ANSWER) from None
        except (psycopg.Error, OSError, ValueError) as error:
            raise unavailable(target, _why(error)) from None
        connection = PostgresConnection(raw, target)
        try:
            _load_as_text(raw)
            for statement in _SESSION:
                await connection.fetch(statement)
        except BaseException:
            await surely(raw.close())
            raise
        return connection


class PostgresConnection:
    """`SourceConnection` to PostgreSQL."""

    def __init__(self, raw: AsyncConnection[Any], target: ConnectionTarget) -> None:
        self._raw = raw
        self._target = target
        self._usable = True

    @property
    def is_usable(self) -> bool:
        return self._usable and not self._raw.closed and not self._raw.broken

    async def run(self, sql: str, bounds: StatementLimits) -> Rows:
        import psycopg

        self._usable = False
        try:
            async with asyncio.timeout(bounds.deadline_s):
                rows = await self._bounded(sql, bounds)
        except TimeoutError:
            await surely(self._stop())
            raise timed_out(bounds.timeout_s) from None
        except asyncio.CancelledError:
            await surely(self._stop())
            raise
        except psycopg.Error as error:
            await surely(self._stop())
            if error.sqlstate in _LATE:
                raise timed_out(bounds.timeout_s) from None
            raise _problem(self._target, error) from None
        except (OSError, ValueError, ArithmeticError):
            await surely(self._stop())
            raise unavailable(self._target, causes.BROKEN_OFF) from None
        self._usable = True
        return rows

    async def tables(self, wanted: Sequence[TableName] | None, limit: int) -> list[TableFacts]:
        return await read_tables(self.fetch, wanted, limit)

    async def facts(self) -> ServerFacts:
        encrypted = bool(self._raw.pgconn.ssl_in_use)
        return await read_facts(self.fetch, tls=encrypted)

    async def close(self) -> None:
        self._usable = False
        await self._raw.close()

    async def fetch(self, sql: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of one of our statements.

        Raises:
            ToolFailed: code `query_failed` or `source_unavailable`.
        """
        import psycopg

        try:
            async with asyncio.timeout(METADATA_S):
                cursor = await self._raw.execute(sql.encode(), values)
                return await cursor.fetchall() if cursor.description else []
        except TimeoutError:
            await surely(self._stop())
            raise unavailable(self._target, causes.NO_ANSWER) from None
        except asyncio.CancelledError:
            await surely(self._stop())
            raise
        except (psycopg.Error, OSError) as error:
            self._usable = False
            raise _problem(self._target, error) from None

    async def _bounded(self, sql: str, bounds: StatementLimits) -> Rows:
        milliseconds = max(1, int(bounds.timeout_s * 1000))
        await self._raw.execute(b"BEGIN READ ONLY")
        await self._raw.execute(f"SET LOCAL statement_timeout = {milliseconds}".encode())
        # In binary format, the server accepts only one statement.
        bounded = _BOUNDED.format(sql=sql, most=_MAX_ROW_BYTES, error=_TOO_LARGE)
        declared = f"DECLARE wanted NO SCROLL CURSOR FOR {bounded}"
        await self._raw.execute(declared.encode(), binary=True)
        collector: Collector | None = None
        while True:
            cursor = await self._raw.execute(f"FETCH FORWARD {_BATCH} FROM wanted".encode())
            rows = await cursor.fetchall()
            if collector is None:
                collector = Collector([column.name for column in cursor.description or ()], bounds)
            if not rows or await collector.take(rows) < len(rows):
                break
        await self._raw.execute(b"ROLLBACK")
        return collector.rows()

    async def _stop(self) -> None:
        """End the running statement on the server, and the connection."""
        import psycopg

        self._usable = False
        try:
            if not self._raw.closed:
                await self._raw.cancel_safe(timeout=CONNECT_S)
        except (psycopg.Error, OSError):
            log.warning("cannot stop a query of %r", self._target.name)
        finally:
            await self._raw.close()


def _parameters(target: ConnectionTarget) -> dict[str, Any]:
    address = target.address
    tls = "off" if address.unix_socket is not None else address.tls
    found: dict[str, Any] = {
        "host": address.unix_socket or address.host,
        "port": address.port,
        "dbname": address.database,
        "user": address.user,
        "password": target.password,
        "sslmode": _SSL_MODES[tls],
        "sslrootcert": address.tls_ca_file or ("system" if tls == "verify" else None),
        "connect_timeout": int(CONNECT_S),
        "application_name": "tollgate",
        # Excludes the service user's password file and Kerberos tickets.
        "passfile": "/dev/null",
        "gssencmode": "disable",
        "require_auth": None if tls == "verify" else "!password,!gss,!sspi",
    }
    given = {name: value for name, value in found.items() if value is not None}
    return {**given, "autocommit": True, "prepare_threshold": None}


def _load_as_text(raw: AsyncConnection[Any]) -> None:
    """Load as text dates beyond Python's range and JSON beyond its depth, which would be errors."""
    from psycopg.adapt import Loader

    class TimeLoader(Loader):
        def load(self, data: Any) -> str:
            text = bytes(data).decode()
            return text if text.endswith("BC") else text.replace(" ", "T", 1)

    class JsonLoader(Loader):
        def load(self, data: Any) -> Any:
            try:
                if len(data) <= MAX_JSON_BYTES:
                    return orjson.loads(bytes(data))
            except orjson.JSONDecodeError:
                pass
            return bytes(data).decode("utf-8", "replace")

    for name in _TIMES:
        raw.adapters.register_loader(name, TimeLoader)
    for name in ("json", "jsonb"):
        raw.adapters.register_loader(name, JsonLoader)


def _problem(target: ConnectionTarget, error: BaseException) -> ToolFailed:
    """Return the error, without the address."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return unavailable(target, _why(error))
    if state == _NO_RIGHT:
        return failed("the account of the data source lacks permission for that")
    if _TOO_LARGE in _first_words(error):
        return failed("a row exceeds 8 MB; select fewer columns, or parts of them")
    if state.startswith(_SHOWN):
        return failed(without_address(target, _first_words(error)))
    if state.startswith(("08", "28", "3D", "53", "57P")):
        return unavailable(target, _why(error))
    return failed(f"the database returned error {state}")


def _first_words(error: BaseException) -> str:
    """Return the message alone: details may contain values."""
    diagnostics = getattr(error, "diag", None)
    return str(getattr(diagnostics, "message_primary", None) or "the statement is not accepted")


def _why(error: BaseException | Error) -> Cause:
    state, text = getattr(error, "sqlstate", None) or "", str(error).lower()
    if state.startswith("28") or "password authentication" in text or "no password" in text:
        return causes.REFUSED
    if state.startswith("3D") or ("database" in text and "does not exist" in text):
        return causes.NO_DATABASE
    if state.startswith("53") or "too many" in text:
        return causes.FULL
    if (cause := causes.tls_cause(error)) is not None:
        return cause
    return causes.NO_TLS if "ssl" in text else causes.UNREACHABLE
