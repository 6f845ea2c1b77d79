"""MySQL and MariaDB through asyncmy.

A cancelled or timed-out query is ended on the server by a second connection: closing ours would
leave it running until it has something to send.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from app.core.errors import ToolFailed
from app.knowledge.sources.drivers import causes
from app.knowledge.sources.drivers.failures import failed, timed_out, unavailable, without_address
from app.knowledge.sources.drivers.mysql_catalog import read_tables
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

log = logging.getLogger(__name__)

METADATA_S = 30.0
_SMALL_BYTES = 100_000
# Exceptions of the library for invalid server responses, besides its own errors.
_NONSENSE = (
    *(OSError, EOFError, RuntimeError, ValueError, ArithmeticError, LookupError),
    *(AttributeError, NameError, TypeError, struct.error),
)
_JSON_TYPE = 245
_SESSION = (*SESSION_SETUP["mysql"], "SET SESSION TRANSACTION READ ONLY")
_LATE = {1317, 1969, 3024}
_REFUSED = {1044, 1045, 1130, 1251, 1698, 1862, 2059, 4151}
_FULL = {1040, 1203, 1226}
_NO_RIGHT = {1142, 1143, 1227, 1370}
# Errors only about the statement.
_SHOWN = {
    *(1052, 1054, 1055, 1056, 1060, 1064, 1066, 1104, 1109, 1111, 1115, 1116, 1140, 1146, 1222),
    *(1235, 1241, 1242, 1247, 1248, 1250, 1267, 1270, 1271, 1292, 1305, 1365, 1367, 1411, 1426),
    *(1463, 1582, 1583, 1584, 1690, 3029, 3065, 3141, 3143, 3149, 3593, 4015, 4038, 4078),
}
_READS = {"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "REPLICATION CLIENT"}


class MysqlDriver:
    """`Driver` for MySQL and MariaDB."""

    async def connect(self, target: ConnectionTarget) -> MysqlConnection:
        raw = await _open(target)
        try:
            version = str(raw.server_version)
            connection = MysqlConnection(raw, target, version)
            for statement in _SESSION:
                await connection.do(statement)
        except BaseException:
            raw.close()
            raise
        return connection


class _NoPlainPassword:
    """Blocks sign-in methods that send the password in clear text."""

    def __init__(self, _: Any) -> None:
        return None

    def authenticate(self, _: Any) -> bytes:
        from asyncmy.errors import OperationalError

        raise OperationalError(2059, "the server asks for the password in plain text")


async def _open(target: ConnectionTarget) -> Any:
    from asyncmy import connection as library
    from asyncmy.constants.CLIENT import MULTI_STATEMENTS
    from asyncmy.errors import MySQLError

    address, encrypted = target.address, tls_context(target)
    plain = ("mysql_clear_password", "dialog", "mysql_old_password")
    is_safe = encrypted is not None and address.tls == "verify"
    make: Any = library.Connection  # its types are not exposed
    raw = make(
        host=address.host,
        port=address.port or 0,
        unix_socket=address.unix_socket,
        user=address.user,
        # The driver would encode text as Latin-1.
        password=(target.password or "").encode(),
        database=address.database,
        ssl=encrypted,
        autocommit=True,
        local_infile=False,
        connect_timeout=CONNECT_S,
        program_name="tollgate",
        auth_plugin_map={} if is_safe else dict.fromkeys(plain, _NoPlainPassword),
    )
    # It always requests them, and we never send two statements together.
    raw._client_flag &= ~MULTI_STATEMENTS
    try:
        async with asyncio.timeout(CONNECT_S):
            await raw.connect()
    except TimeoutError:
        raw.close()
        raise unavailable(target, causes.NO_ANSWER) from None
    except (MySQLError, *_NONSENSE) as error:
        raw.close()
        raise _problem(target, error) from None
    return raw


class MysqlConnection:
    """`SourceConnection` to MySQL or MariaDB."""

    def __init__(self, raw: Any, target: ConnectionTarget, version: str) -> None:
        self._raw = raw
        self._target = target
        self._version = version
        self._usable = True

    @property
    def is_usable(self) -> bool:
        return self._usable and bool(self._raw.connected)

    async def run(self, sql: str, bounds: StatementLimits) -> Rows:
        from asyncmy.errors import MySQLError

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
        except MySQLError as error:
            self._raw.close()
            if error.args and error.args[0] in _LATE:
                raise timed_out(bounds.timeout_s) from None
            raise _problem(self._target, error) from None
        except _NONSENSE as error:
            await surely(self._stop())
            raise _problem(self._target, error) from None
        return rows

    async def tables(self, wanted: Sequence[TableName] | None, limit: int) -> list[TableFacts]:
        return await read_tables(self.fetch, wanted, limit)

    async def facts(self) -> ServerFacts:
        grants = [str(row[0]) for row in await self.fetch("SHOW GRANTS")]
        [(_, cipher)] = await self.fetch("SHOW SESSION STATUS LIKE 'Ssl_cipher'") or [("", "")]
        product = "MariaDB" if "mariadb" in self._version.lower() else "MySQL"
        number = self._version.removeprefix("5.5.5-").split("-")[0]
        return ServerFacts(f"{product} {number}", may_write(grants), bool(cipher))

    async def close(self) -> None:
        from asyncmy.errors import MySQLError

        self._usable = False
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._raw.ensure_closed()
        except (MySQLError, OSError, TimeoutError):
            self._raw.close()

    async def do(self, statement: str) -> None:
        """Run one of our statements without rows.

        Raises:
            ToolFailed: see `fetch`.
        """
        await self.fetch(statement)

    async def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one of our statements.

        Raises:
            ToolFailed: code `query_failed` or `source_unavailable`.
        """
        from asyncmy.errors import MySQLError

        try:
            async with asyncio.timeout(METADATA_S):
                cursor = self._raw.cursor()
                await cursor.execute(sql, tuple(values) or None)
                return list(await cursor.fetchall())
        except TimeoutError:
            await surely(self._stop())
            raise unavailable(self._target, causes.NO_ANSWER) from None
        except asyncio.CancelledError:
            await surely(self._stop())
            raise
        except (MySQLError, *_NONSENSE) as error:
            self._usable = False
            raise _problem(self._target, error) from None

    async def _bounded(self, sql: str, bounds: StatementLimits) -> Rows:
        from asyncmy.cursors import SSCursor

        await self._raw.query(self._time_limit(bounds.timeout_s))
        await self._raw.query("START TRANSACTION READ ONLY")
        cursor = self._raw.cursor(SSCursor)
        await cursor.execute(sql)
        described = cursor.description
        if described is None:
            raise failed("it returns no result")
        collector = Collector([column[0] for column in described], bounds)
        as_json = [index for index, column in enumerate(described) if column[1] == _JSON_TYPE]
        # One by one: a row may be as large as the server's packets.
        while row := await cursor.fetchone():
            if not await _taken(row, as_json, collector):
                # Usually that was the last one; otherwise all remaining rows would have to be read.
                if await cursor.fetchone():
                    await surely(self._stop())
                    return collector.rows()
                break
        await self._raw.query("ROLLBACK")
        self._usable = True
        return collector.rows()

    def _time_limit(self, seconds: float) -> str:
        if "mariadb" in self._version.lower():
            return f"SET SESSION max_statement_time = {seconds:.3f}"
        return f"SET SESSION max_execution_time = {max(1, int(seconds * 1000))}"

    async def _stop(self) -> None:
        """End the running statement on the server, and the connection."""
        from asyncmy.errors import MySQLError

        self._usable = False
        thread = int(self._raw.thread_id())
        self._raw.close()
        try:
            async with asyncio.timeout(CONNECT_S):
                other = await _open(self._target)
                try:
                    await other.query(f"KILL {thread}")
                finally:
                    other.close()
        except (MySQLError, OSError, TimeoutError, ToolFailed) as error:
            if not (isinstance(error, MySQLError) and error.args[:1] == (1094,)):
                log.warning("cannot stop a query of %r", self._target.name)


async def _taken(row: Sequence[Any], as_json: Sequence[int], collector: Collector) -> bool:
    """Return whether the collector accepted the row; a large one is parsed in a thread."""
    size = sum(len(value) for value in row if isinstance(value, str | bytes))
    if size <= _SMALL_BYTES:
        return collector.add(_parsed(row, as_json))
    return bool(await collector.take([await asyncio.to_thread(_parsed, row, as_json)]))


def _parsed(row: Sequence[Any], columns: Iterable[int]) -> Sequence[Any]:
    """Return the row with parsed JSON."""
    values = list(row)
    for index in columns:
        if isinstance(values[index], str | bytes) and len(values[index]) <= MAX_JSON_BYTES:
            try:
                values[index] = orjson.loads(values[index])
            except orjson.JSONDecodeError:
                continue  # too deep or too large a number: it stays text
    return values


def may_write(grants: Iterable[str]) -> bool:
    """Return whether the lines of `SHOW GRANTS` allow more than reading; a role counts as more."""
    for line in grants:
        rights, _, place = line.removeprefix("GRANT ").partition(" ON ")
        if not place:
            return True
        depth, word, words = 0, "", []
        for letter in rights + ",":
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                words.append(word)
                word = ""
            else:
                word += letter
        if any(word.partition("(")[0].strip().upper() not in _READS for word in words):
            return True
    return False


def _problem(target: ConnectionTarget, error: BaseException) -> ToolFailed:
    """Return the error, without the address."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in _REFUSED:
        return unavailable(target, causes.REFUSED)
    if number in _FULL:
        return unavailable(target, causes.FULL)
    if number == 1049:
        return unavailable(target, causes.NO_DATABASE)
    if number in _NO_RIGHT:
        return failed("the account of the data source lacks permission for that")
    if number in _SHOWN and len(error.args) > 1:
        return failed(without_address(target, str(error.args[1])))
    if 1000 <= number < 2000 or number >= 3000:
        return failed(f"the database returned error {number}")
    return unavailable(target, causes.tls_cause(error) or causes.UNREACHABLE)


def tls_context(target: ConnectionTarget) -> ssl.SSLContext | None:
    """Return the TLS context; None without TLS, as on a local socket.

    Raises:
        ToolFailed: code `source_unavailable`: the certificate file is unreadable.
    """
    address = target.address
    if address.tls == "off" or address.unix_socket is not None:
        return None
    try:
        context = ssl.create_default_context(cafile=address.tls_ca_file)
    except (OSError, ssl.SSLError):
        raise unavailable(target, causes.NO_CERTIFICATES) from None
    if address.tls == "require":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
