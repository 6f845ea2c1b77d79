"""Sessions: stored chats whose messages form a tree. This is the writing side.

`session_queries.py` is the reading side. The leaf of an open session is in memory, so that a run
can append without a query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from app.agents.context.compaction import SUMMARY
from app.core.clock import Clock, isoformat
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.core.text import dump_json, scrub
from app.db.refused_images import REFUSED_IMAGES, with_refused
from app.db.statements import (
    ADD_ENTRY,
    ADD_SESSION,
    KEEP_REFUSED,
    MOVE_LEAF,
    RENAME_SESSION,
    SET_MODEL,
)
from app.db.writer import DatabaseWriter
from app.events.durable import (
    ContextCompacted,
    MessageCompleted,
    SessionBranched,
)
from app.events.log import EventLog, SessionLog
from app.execution.record import bounded

SessionKind = Literal["chat", "direct"]
Role = Literal["user", "assistant", "tool"]
Block = dict[str, Any]

UNTITLED = "New session"
BUSINESS = "business"
"""Metadata key of a session's channel."""
SHOWN_CHARS = 60_000
INPUT_CHARS = 32_000
MAX_OPEN = 500
IDLE_S = 60.0
MESSAGE_CHARS = 120_000


@dataclass(slots=True)
class Session:
    """Open session; `leaf` is the parent of the next entry.

    `usage` is the sum of its model requests, as in `sessions.usage`. `model`, `max_tokens` and
    `temperature` are None if its agent decides.
    """

    id: str
    kind: SessionKind
    title: str
    user_id: str
    epoch: str
    log: SessionLog
    project_id: str | None = None
    agent_id: str | None = None
    model: str | None = None
    leaf: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    touched: float = 0.0
    usage: dict[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    temperature: float | None = None


class Sessions:
    """Creates sessions and appends to them.

    Args:
        load: reads a stored session and the last `seq` of its log; None if it does not exist.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        events: EventLog,
        clock: Clock,
        load: Callable[[str], Awaitable[tuple[dict[str, Any], int] | None]],
        redactor: Redactor | None = None,
    ) -> None:
        self._redactor = redactor or Redactor()
        self._db = db
        self._events = events
        self._clock = clock
        self._load = load
        self._open: dict[str, Session] = {}
        self._reading: dict[str, asyncio.Task[Session | None]] = {}

    def create(
        self,
        *,
        user_id: str,
        kind: SessionKind = "chat",
        title: str = UNTITLED,
        project_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        session_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Session:
        """Create a session; it is durable once the database writer has committed."""
        self._forget_idle()
        session_id = session_id or new_id("ses")
        epoch = new_id("ep")
        moment = isoformat(self._clock.now())
        meta = meta or {}
        encoded = orjson.dumps(scrub(meta)).decode()
        row = (
            session_id,
            kind,
            title,
            project_id,
            agent_id,
            user_id,
            model,
            max_tokens,
            temperature,
            epoch,
            encoded,
            moment,
            moment,
        )
        self._db.append(ADD_SESSION, row)
        log = self._events.open(session_id, epoch, 0)
        session = Session(
            session_id, kind, title, user_id, epoch, log, project_id, agent_id, model, None, meta
        )
        session.max_tokens, session.temperature = max_tokens, temperature
        session.touched = self._clock.monotonic()
        self._open[session_id] = session
        return session

    async def get(self, session_id: str) -> Session | None:
        """Return the session, opened if necessary; None if it does not exist."""
        session = self._open.get(session_id)
        if session is not None:
            session.touched = self._clock.monotonic()
            return session
        self._forget_idle()
        # Waiters share one read: a second read could end after the session was opened, changed and
        # released, and would open it with an outdated `seq`.
        reading = self._reading.get(session_id)
        if reading is None:
            reading = self._reading[session_id] = asyncio.create_task(self._read(session_id))
            reading.add_done_callback(lambda _: self._reading.pop(session_id, None))
        return await asyncio.shield(reading)

    def open_now(self, session_id: str) -> Session | None:
        """Return a session that this process has open; every session of a run is."""
        return self._open.get(session_id)

    async def _read(self, session_id: str) -> Session | None:
        stored = await self._load(session_id)
        if stored is None:
            return None
        session = self._open.get(session_id)
        if session is None:
            row, head = stored
            log = self._events.open(session_id, row["epoch"], head)
            session = self._open[session_id] = Session(log=log, **row)
        session.touched = self._clock.monotonic()
        return session

    def append(
        self,
        session: Session,
        role: Role,
        content: list[Block],
        *,
        run_id: str | None,
        client_message_id: str | None = None,
        entry_id: str | None = None,
        agent_id: str | None = None,
        model: str | None = None,
    ) -> str:
        """Add a message below the leaf and announce it; return its ID.

        Args:
            agent_id: agent of the run, if it is not the session's.
            model: model that wrote it, if any.
        """
        entry_id = entry_id or new_id("msg")
        moment = isoformat(self._clock.now())
        encoded = dump_json(content).decode()
        self._db.append(
            ADD_ENTRY, (entry_id, session.id, session.leaf, run_id, role, encoded, moment)
        )
        self._db.append(MOVE_LEAF, (entry_id, moment, session.id))
        session.leaf = entry_id
        if session.title == UNTITLED and role == "user":
            title = _title_of(content)
            if title != UNTITLED:
                self.rename(session, self._redactor.text(title))
        session.log.emit(
            MessageCompleted,
            run_id=run_id,
            agent_id=agent_id or session.agent_id,
            message_id=entry_id,
            role=role,
            content=_shown([fit_to_be_seen(block, self._redactor) for block in content]),
            client_message_id=client_message_id,
            model=model,
        )
        return entry_id

    async def flush(self) -> None:
        """Wait until everything appended so far is on disk.

        Raises:
            StorageUnavailable: it cannot be written.
        """
        await self._db.flush()

    def refuse_images(self, session: Session, model: str, images: list[str]) -> None:
        """Record images that a model's provider refuses; later requests omit them."""
        session.meta[REFUSED_IMAGES] = with_refused(
            session.meta.get(REFUSED_IMAGES, {}), model, images
        )
        self._db.append(KEEP_REFUSED, (dump_json([model, images]).decode(), session.id))

    def summarise(
        self,
        session: Session,
        summary: Block,
        *,
        run_id: str | None,
        agent_id: str | None = None,
        replaced: int,
        tokens: tuple[int, int],
    ) -> str:
        """Add a summary below the leaf and announce it; return its ID.

        The summarized messages stay: a branch from above includes all of them.

        Args:
            summary: `text`, `keeps_from` and `method` from `Compaction.block`.
            replaced: number of summarized messages.
            tokens: estimated tokens of the whole request before and after.
        """
        entry_id = new_id("msg")
        moment = isoformat(self._clock.now())
        encoded = dump_json([summary]).decode()
        row = (entry_id, session.id, session.leaf, run_id, SUMMARY, encoded, moment)
        self._db.append(ADD_ENTRY, row)
        self._db.append(MOVE_LEAF, (entry_id, moment, session.id))
        session.leaf = entry_id
        session.log.emit(
            ContextCompacted,
            run_id=run_id,
            agent_id=agent_id or session.agent_id,
            message_id=entry_id,
            keeps_from=summary["keeps_from"],
            method=summary["method"],
            # The summary may quote arguments of calls.
            summary=self._redactor.raw_json(summary["text"])[:SHOWN_CHARS],
            replaced=replaced,
            tokens_before=tokens[0],
            tokens_after=tokens[1],
        )
        return entry_id

    def branch(self, session: Session, entry_id: str | None) -> None:
        """Make the next message a child of `entry_id` (a new root if None); emit the event."""
        session.leaf = entry_id
        self._db.append(MOVE_LEAF, (entry_id, isoformat(self._clock.now()), session.id))
        session.log.emit(SessionBranched, message_id=entry_id)

    def rename(self, session: Session, title: str) -> None:
        """Set the session's title."""
        session.title = title
        moment = isoformat(self._clock.now())
        self._db.append(RENAME_SESSION, (title, moment, session.id))

    def set_model(
        self,
        session: Session,
        *,
        model: str | None,
        max_tokens: int | None,
        temperature: float | None,
    ) -> None:
        """Set the model and its limits for the next requests; None uses the agent's."""
        session.model, session.max_tokens = model, max_tokens
        session.temperature = temperature
        moment = isoformat(self._clock.now())
        self._db.append(SET_MODEL, (model, max_tokens, temperature, moment, session.id))

    def _forget_idle(self) -> None:
        """Limit the number of open sessions; idle ones are read again when needed.

        A session must have only one object in use, so only sessions unused for a minute are closed.
        """
        if len(self._open) < MAX_OPEN:
            return
        limit = self._clock.monotonic() - IDLE_S
        for session in [s for s in self._open.values() if s.touched < limit]:
            self.release(session)

    def release(self, session: Session) -> None:
        """Close a session without clients and writers."""
        if session.log.is_idle:
            self._events.release(session.id)
            if self._events.get(session.id) is None:
                self._open.pop(session.id, None)


def fit_to_be_seen(block: Block, redactor: Redactor) -> Block:
    """Return a block without secrets, which tool inputs and summaries may contain."""
    kind = block.get("type")
    if kind == "tool_use":
        block = {**block, "input": redactor.arguments(block.get("input"))[0]}
        if "raw_input" in block:
            block["raw_input"] = redactor.raw_json(str(block["raw_input"]))
        return block
    masked: Block = redactor.secrets_in(block)
    if kind == SUMMARY:
        masked["text"] = redactor.raw_json(str(masked.get("text", "")))
    return masked


def _title_of(content: list[Block]) -> str:
    text = " ".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    line = " ".join(text.split())
    return line[:60] if line else UNTITLED


def _shown(content: list[Block]) -> list[Block]:
    """Return content in the form of events: long texts are truncated."""
    room = SHOWN_CHARS if len(content) == 1 else max(1000, MESSAGE_CHARS // max(1, len(content)))
    return [_cut(block, min(room, SHOWN_CHARS)) for block in content]


def _cut(block: Block, room: int) -> Block:
    text, inner = block.get("text"), block.get("content")
    if isinstance(text, str) and len(text) > room:
        return {**block, "text": text[:room], "truncated": True}
    if block.get("type") == "tool_result" and isinstance(inner, list):
        return {**block, "content": [_cut(part, room) for part in inner]}
    if block.get("type") == "tool_use":
        return _cut_call(block)
    if block.get("type") == "image":
        # An image exceeds the size of an event; the stored message contains it.
        return {"type": "image", "source": {"type": "omitted"}, "truncated": True}
    return block


def _cut_call(block: Block) -> Block:
    cut = {**block, "input": bounded(block.get("input"))}
    if isinstance(cut.get("raw_input"), str):
        cut["raw_input"] = cut["raw_input"][:INPUT_CHARS]
    return cut
