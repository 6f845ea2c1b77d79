"""Record of the connections that programs make through the egress proxy."""

from __future__ import annotations

from app.core.clock import Clock, isoformat
from app.core.ids import new_id
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.statements import ADD_CONNECTION, END_CONNECTION
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.retention import Kept
from app.operations.protocols.processes import NetworkConnection
from app.toolkit.context import ToolContext, current_context

_LOSE = "UPDATE network_connections SET verdict = 'lost' WHERE verdict = 'open'"


def kept_connections(days: int) -> Kept:
    """Return how long rows are kept."""
    return Kept("network_connections", "network.trimmed", days)


class ConnectionRecorder:
    """`ConnectionLog` of an installation: rows and metrics.

    A row is written when a connection opens and again when it ends, so that a killed service leaves
    its row too.
    """

    def __init__(
        self, db: DatabaseWriter, clock: Clock, redactor: Redactor, metrics: Metrics
    ) -> None:
        self._db = db
        self._clock = clock
        self._redactor = redactor
        self._metrics = metrics

    async def load(self) -> None:
        """Mark connections of an earlier process as lost.

        Raises:
            StorageUnavailable: the database is not writable.
        """

        def lose(transaction: Transaction) -> None:
            transaction.execute(_LOSE)

        await self._db.transact(lose)

    def begin(self) -> CallConnections:
        """Return the record of the running call's next program."""
        return CallConnections(self, current_context())

    def add(self, context: ToolContext | None, connection: NetworkConnection) -> str:
        """Store a new row; return its ID."""
        key = new_id("net")
        self._db.append(
            ADD_CONNECTION,
            (key, isoformat(self._clock.now()), *self._state(connection), *_caller(context)),
        )
        return key

    def end(self, key: str, connection: NetworkConnection) -> None:
        """Store how a connection ended."""
        self._db.append(END_CONNECTION, (*self._state(connection)[2:], key))

    def count(self, connection: NetworkConnection) -> None:
        """Count a connection that is over."""
        self._metrics.count("network_connections", connection.code or connection.verdict)
        self._metrics.count("network_bytes", "up", connection.bytes_up)
        self._metrics.count("network_bytes", "down", connection.bytes_down)

    def _state(self, one: NetworkConnection) -> tuple[object, ...]:
        reason = None if one.reason is None else self._redactor.text(one.reason)
        return (
            *(self._redactor.text(one.host), one.port, one.verdict, one.code, reason),
            *(one.bytes_up, one.bytes_down, one.duration_s),
        )


class CallConnections:
    """Record of one program's connections."""

    def __init__(self, recorder: ConnectionRecorder, context: ToolContext | None) -> None:
        self._recorder = recorder
        self._context = context
        self._open: dict[int, str] = {}

    def opened(self, number: int, connection: NetworkConnection) -> None:
        """Store a connection that has begun; `number` is the proxy's."""
        self._open[number] = self._recorder.add(self._context, connection)

    def ended(self, number: int, connection: NetworkConnection) -> None:
        """Store its end."""
        self._recorder.end(self._open.pop(number), connection)
        self._recorder.count(connection)

    def refused(self, connection: NetworkConnection) -> None:
        """Store a connection that was not made."""
        self._recorder.add(self._context, connection)
        self._recorder.count(connection)


def _caller(context: ToolContext | None) -> tuple[str | None, ...]:
    if context is None:
        return (None,) * 6
    return (
        *(context.operation_id, context.session_id, context.run_id),
        *(context.agent_id, context.user_id, context.project_id),
    )
