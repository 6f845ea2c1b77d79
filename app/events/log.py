"""Append-only log of a session, and its live end.

An event gets its `seq` and its bytes on the loop, is written by the database writer's thread,
and is delivered only once it is committed: what a client has seen is never lost.
Live output waits behind the uncommitted events before it, so that nobody sees the
output of a call before its start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from pydantic_core import PydanticSerializationError

from app.core.clock import Clock, stamp
from app.core.text import scrub
from app.db.statements import ADD_EVENT
from app.db.writer import DatabaseWriter
from app.events.encode import durable_head, ephemeral, session_part
from app.events.envelope import DurableEvent

MAX_RING_BYTES = 4 << 20


class Frame(NamedTuple):
    """One encoded message. `seq` is 0 for live output."""

    seq: int
    body: bytes


class Subscriber(Protocol):
    """Receiver of a session's events. It is never awaited, so that it cannot delay a call."""

    def deliver(self, session_id: str, frame: Frame) -> None:
        """Receive one frame, in order. Must not raise."""


class LiveSource(Protocol):
    """Something in progress whose state a new subscriber receives immediately."""

    def snapshot(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Yield type and fields of the ephemeral events that show the current state."""


class SessionLog:
    """Assigns sequence numbers in one session, and delivers its events to subscribers.

    Only one process may hold a session's log at a time.
    """

    __slots__ = (
        "_clock",
        "_db",
        "_part",
        "_pending",
        "_ring_bytes",
        "_ring_frames",
        "_uncommitted",
        "committed",
        "epoch",
        "head",
        "holders",
        "last_ts",
        "live",
        "ring",
        "session_id",
        "subscribers",
    )

    def __init__(
        self,
        session_id: str,
        epoch: str,
        head: int,
        *,
        db: DatabaseWriter,
        clock: Clock,
        uncommitted: set[SessionLog],
        ring: int,
    ) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.head = head
        self.committed = head
        self.last_ts = ""
        self.ring: deque[Frame] = deque()
        self._ring_frames = ring
        self._ring_bytes = 0
        self.subscribers: set[Subscriber] = set()
        # Ids of the runs that will write here: the log must not be forgotten meanwhile.
        self.holders: set[str] = set()
        self.live: dict[str, LiveSource] = {}
        self._db = db
        self._clock = clock
        self._uncommitted = uncommitted
        self._part = session_part(session_id, epoch)
        self._pending: deque[tuple[int, Frame]] = deque()

    def append(self, kind: str, fields: str) -> int:
        """Append a durable event; return its `seq`.

        `fields` is JSON text without the first brace.
        """
        seq = self.head + 1
        ts = stamp(self._clock.time())
        body = durable_head(kind, ts, self._part, seq) + fields
        return self._write(kind, ts, seq, body.encode())

    def emit(self, kind: type[DurableEvent], **fields: Any) -> int:
        """Append a durable event, validated by its model; return its `seq`."""
        seq = self.head + 1
        ts = stamp(self._clock.time())
        envelope: dict[str, Any] = {
            "ts": ts,
            "session_id": self.session_id,
            "epoch": self.epoch,
            "seq": seq,
        }
        event = kind(**envelope, **fields)
        return self._write(event.type, ts, seq, _dump(kind, event, envelope, fields))

    def send(self, kind: str, fields: dict[str, Any]) -> None:
        """Send live output to current subscribers without storing it."""
        if not self.subscribers:
            return
        frame = Frame(0, self.encode_live(kind, fields))
        if self._pending:
            self._pending.append((0, frame))
        else:
            self._deliver(frame)

    def encode_live(self, kind: str, fields: dict[str, Any]) -> bytes:
        """Return an ephemeral event at the current head as bytes."""
        ts = stamp(self._clock.time())
        return ephemeral(kind, ts, self._part, self.head, fields)

    def publish(self, committed_mark: int) -> bool:
        """Deliver everything up to a watermark, including live output queued behind it.

        Return whether nothing waits for a commit any more.
        """
        pending, subscribers, ring = self._pending, self.subscribers, self.ring
        while pending and pending[0][0] <= committed_mark:
            frame = pending.popleft()[1]
            seq, body = frame
            if seq:
                self.committed = seq
                ring.append(frame)
                self._ring_bytes += len(body)
            if subscribers:
                self._deliver(frame)
        while len(ring) > self._ring_frames or self._ring_bytes > MAX_RING_BYTES:
            self._ring_bytes -= len(ring.popleft().body)
        return not pending

    def recent(self, after: int) -> list[Frame] | None:
        """Return committed frames with `seq > after`; None if the buffer no longer has them all."""
        if after >= self.committed:
            return []
        if not self.ring or self.ring[0].seq > after + 1:
            return None
        return [frame for frame in self.ring if frame.seq > after]

    @property
    def is_idle(self) -> bool:
        return not (self.subscribers or self.holders or self._pending or self.live)

    def _write(self, kind: str, ts: str, seq: int, body: bytes) -> int:
        row = (self.session_id, self.epoch, seq, 0, kind, ts, body)  # as `event_rows.one`
        mark = self._db.append(ADD_EVENT, row)
        self.head = seq
        self.last_ts = ts
        if not self._pending:
            self._uncommitted.add(self)
        # As `Frame(seq, body)`, which a named tuple makes by way of a Python function.
        self._pending.append((mark, tuple.__new__(Frame, (seq, body))))
        return seq

    def _deliver(self, frame: Frame) -> None:
        for subscriber in tuple(self.subscribers):
            subscriber.deliver(self.session_id, frame)


def _dump(
    kind: type[DurableEvent], event: DurableEvent, envelope: dict[str, Any], fields: dict[str, Any]
) -> bytes:
    try:
        return event.model_dump_json(exclude_none=True).encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        return kind(**envelope, **scrub(fields)).model_dump_json(exclude_none=True).encode()


class EventLog:
    """Open session logs of this process."""

    def __init__(self, db: DatabaseWriter, clock: Clock, *, ring: int = 2000) -> None:
        self._db = db
        self._clock = clock
        self._ring = ring
        self._logs: dict[str, SessionLog] = {}
        self._uncommitted: set[SessionLog] = set()
        db.subscribe(self._publish)

    def open(self, session_id: str, epoch: str, head: int) -> SessionLog:
        """Return the log of a session; `head` is the last committed `seq` if it is not open yet."""
        log = self._logs.get(session_id)
        if log is None:
            log = self._logs[session_id] = SessionLog(
                session_id,
                epoch,
                head,
                db=self._db,
                clock=self._clock,
                uncommitted=self._uncommitted,
                ring=self._ring,
            )
        return log

    def get(self, session_id: str) -> SessionLog | None:
        """Return the log if it is open in this process."""
        return self._logs.get(session_id)

    def release(self, session_id: str) -> None:
        """Close a log without subscribers and writers."""
        log = self._logs.get(session_id)
        if log is not None and log.is_idle:
            del self._logs[session_id]

    def _publish(self, mark: int) -> None:
        for log in tuple(self._uncommitted):
            if log.publish(mark):
                self._uncommitted.discard(log)
