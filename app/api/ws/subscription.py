"""Subscription to a session: replay, then live events, without gaps or duplicates."""

from __future__ import annotations

from app.agents.session_queries import SessionQueries
from app.api.ws.outbox import Backlog, Outbox
from app.events.control import Subscribed
from app.events.legacy import OlderEvents, OlderStyle
from app.events.log import Frame, SessionLog


class Subscription:
    """`Subscriber` of a session's log that delivers its events to an outbox."""

    def __init__(
        self,
        log: SessionLog,
        outbox: Outbox,
        *,
        ephemerals: bool,
        older: OlderStyle | None = None,
    ) -> None:
        self.log = log
        self._outbox = outbox
        self._ephemerals = ephemerals
        self._held: list[Frame] | None = None
        self._backlog: Backlog | None = None
        self._last = 0
        self._older = OlderEvents(older) if older else None

    def deliver(self, session_id: str, frame: Frame) -> None:
        if self._held is not None:
            self._held.append(frame)
            return
        if frame.seq:
            if frame.seq <= self._last:
                return
            self._last = frame.seq
        elif not self._ephemerals or self._is_catching_up:
            return
        for body in self._bodies(frame):
            self._send(body, droppable=not frame.seq)

    async def start(
        self,
        answer: Subscribed,
        *,
        epoch: str | None,
        after: int,
        archive: SessionQueries,
        limit: int,
    ) -> None:
        """Send the response, the missed events, and from then on all live events.

        Reading the head and registering the subscription happen without an await in between; events
        that arrive while the database is read are sent after the missed ones.
        """
        log, head = self.log, self.log.committed
        lost = (epoch is not None and epoch != log.epoch) or after > head or head - after > limit
        if lost:
            self._last = head
            self._open(answer, head, recovered=False, replay_from=head + 1, frames=[])
            return
        frames = log.recent(after)
        if frames is None:
            self._held = []
            log.subscribers.add(self)
            try:
                rows = await archive.events(
                    log.session_id, log.epoch, after=after, upto=head, limit=limit
                )
            except BaseException:
                self.stop()
                raise
            frames = [Frame(seq, body) for seq, body in rows]
        # Never replay partially, for example after retention or with a damaged log.
        whole = len(frames) == head - after
        self._open(
            answer, head, recovered=whole, replay_from=after + 1, frames=frames if whole else []
        )

    def stop(self) -> None:
        """Stop the delivery of events."""
        self.log.subscribers.discard(self)

    def _open(
        self,
        answer: Subscribed,
        head: int,
        *,
        recovered: bool,
        replay_from: int,
        frames: list[Frame],
    ) -> None:
        update = {"head": head, "recovered": recovered, "replay_from": replay_from}
        first = answer.model_copy(update=update).model_dump_json(exclude_none=True).encode()
        held, self._held = self._held or [], None
        self.log.subscribers.add(self)
        self._last = head
        missed = [body for frame in frames for body in self._bodies(frame)]
        self._backlog = self._outbox.catch_up([first, *missed])
        for frame in held:
            self.deliver(self.log.session_id, frame)
        if self._ephemerals:
            for source in list(self.log.live.values()):
                for kind, fields in source.snapshot():
                    self._send(self.log.encode_live(kind, fields))

    def _bodies(self, frame: Frame) -> tuple[bytes, ...]:
        """Return the event, and the legacy events derived from it."""
        if self._older is None:
            return (frame.body,)
        return (frame.body, *self._older.of(frame.body))

    @property
    def _is_catching_up(self) -> bool:
        if self._backlog is not None and not self._backlog.bodies:
            self._backlog = None
        return self._backlog is not None

    def _send(self, body: bytes, *, droppable: bool = False) -> None:
        """Send a message after the client's remaining backlog."""
        if self._is_catching_up:
            assert self._backlog is not None
            self._outbox.append_to(self._backlog, body)
        else:
            self._outbox.put(body, droppable=droppable)
