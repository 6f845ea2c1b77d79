"""Idempotency keys: a repeated request returns the first response."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from app.core.background import background
from app.core.clock import Clock
from app.core.errors import StorageUnavailable
from app.db.idempotency_statements import FORGET_KEYS, KEEP_KEY
from app.db.writer import DatabaseWriter

if TYPE_CHECKING:
    from app.api.principal import Principal
    from app.db.engine import Database

KEPT_S = 600.0
MAX_KEPT = 10_000
"""Stored responses per owner; the oldest are dropped first."""
# Storage time of an unanswered request; after a crash, `KEPT_S` applies from the next load.
_CLAIMED_S = 86_400.0
PURGE_S = 60.0
UNANSWERED = 0

Door = Literal["rest", "ws"]


class Key(NamedTuple):
    """Identity of an idempotent request: interface, owner and key."""

    door: Door
    owner: str
    name: str


def owner_of(principal: Principal) -> str:
    """Return the owner of a principal's keys: its token, because rights differ between tokens."""
    return principal.token_id or principal.user_id


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """Stored response to a request.

    Attributes:
        content: digest of the request.
        status: status of the response; `UNANSWERED` if the request ended without one.
        answer: response in the format of the interface; None if only the database stores it.
        until: expiry as a Unix time.
    """

    content: str
    status: int
    answer: bytes | None
    until: float

    @property
    def is_unknown(self) -> bool:
        """True if the request ended without a response."""
        return self.status == UNANSWERED


class IdempotencyKeys:
    """Requests of the last ten minutes, in memory and in the database.

    Each interface tracks its requests in progress. Callers must not await anything between `get`
    and `begin` or `keep`.
    """

    def __init__(self, db: DatabaseWriter, clock: Clock, database: Callable[[], Database]) -> None:
        self._db = db
        self._clock = clock
        self._database = database
        self._kept: dict[tuple[Door, str], OrderedDict[str, StoredResponse]] = {}
        self._loaded = False
        # Latest expiry of any response; a previous process may have stored some.
        self._latest: float | None = clock.time()

    async def load(self) -> None:
        """Load what a previous process stored; required once before use.

        Raises:
            StorageUnavailable: the database cannot be read at the moment.
        """
        if not self._loaded:
            self._take([row async for row in self._stored()])

    @asynccontextmanager
    async def purged(self) -> AsyncIterator[None]:
        """Delete expired responses, in memory and in the database, until the block ends."""
        async with background(self._purge_now_and_then()):
            yield

    def get(self, key: Key) -> StoredResponse | None:
        """Return the request with a key; None if there was none within ten minutes."""
        of_owner = self._kept.get((key.door, key.owner))
        kept = of_owner.get(key.name) if of_owner else None
        return kept if kept is not None and kept.until > self._clock.time() else None

    def begin(self, key: Key) -> None:
        """Store that a request is running; call it before the request has any effect."""
        self._write(key, StoredResponse("", UNANSWERED, None, self._clock.time() + _CLAIMED_S))

    def keep(self, key: Key, content: str, status: int, answer: bytes, *, whole: bool) -> None:
        """Store the response to a request, in the same commit as the writes just before.

        Args:
            whole: also hold the response itself in memory, not only in the database.
        """
        until = self._latest = self._clock.time() + KEPT_S
        self._write(key, StoredResponse(content, status, answer, until))
        self._remember(key, StoredResponse(content, status, answer if whole else None, until))

    def lose(self, key: Key) -> None:
        """Mark a request as ended without a response."""
        self._remember(key, StoredResponse("", UNANSWERED, None, self._clock.time() + KEPT_S))

    def forget(self, key: Key) -> None:
        """Delete a request that had no effect, so that it can be sent again."""
        self._of(key).pop(key.name, None)
        self._write(key, StoredResponse("", UNANSWERED, None, 0.0))

    async def answer_of(self, key: Key) -> bytes | None:
        """Return the stored response to a request; None if it is no longer stored.

        Raises:
            StorageUnavailable: the database cannot be read at the moment.
        """
        from app.db.idempotency_tables import IdempotencyKeyRow

        await self._db.flush()
        async with self._database().session() as session:
            row = await session.get(IdempotencyKeyRow, tuple(key))
        return None if row is None or row.status == UNANSWERED else row.answer

    async def _stored(self) -> AsyncIterator[tuple[Key, StoredResponse]]:
        from sqlalchemy.orm import defer
        from sqlmodel import col, select

        from app.db.idempotency_tables import IdempotencyKeyRow as Row

        now = self._clock.time()
        query = select(Row).where(col(Row.kept_until) > now).order_by(col(Row.kept_until))
        commands = query.where(Row.door == "ws")
        # Their responses can be large, and are read on demand.
        requests = query.where(Row.door == "rest").options(defer(cast("Any", Row.answer)))
        doors: tuple[tuple[Door, Any], ...] = (("ws", commands), ("rest", requests))
        async with self._database().session() as session:
            for door, wanted in doors:
                for row in await session.exec(wanted):
                    lost = row.status == UNANSWERED
                    until = now + KEPT_S if lost else row.kept_until
                    answer = row.answer if door == "ws" else None
                    self._latest = max(self._latest or 0.0, until)
                    kept = StoredResponse(row.content, row.status, answer, until)
                    yield Key(door, row.owner, row.key), kept

    def _take(self, rows: list[tuple[Key, StoredResponse]]) -> None:
        """Add the rows unless a concurrent load has already done so."""
        if self._loaded:
            return
        self._loaded = True
        for key, kept in rows:
            self._of(key)[key.name] = kept

    def _write(self, key: Key, kept: StoredResponse) -> None:
        row = (*key, kept.content, kept.status, kept.answer or b"", kept.until)
        self._db.append(KEEP_KEY, row)

    def _remember(self, key: Key, kept: StoredResponse) -> None:
        of_owner = self._of(key)
        of_owner[key.name] = kept
        of_owner.move_to_end(key.name)
        while len(of_owner) > MAX_KEPT:
            name, oldest = of_owner.popitem(last=False)
            self._write(
                key._replace(name=name), StoredResponse(oldest.content, UNANSWERED, None, 0.0)
            )

    def _of(self, key: Key) -> OrderedDict[str, StoredResponse]:
        return self._kept.setdefault((key.door, key.owner), OrderedDict())

    async def _purge_now_and_then(self) -> None:
        while True:
            self._purge()
            await asyncio.sleep(PURGE_S)

    def _purge(self) -> None:
        if self._latest is None:
            return  # an idle service writes nothing
        now = self._clock.time()
        for owner, kept in list(self._kept.items()):
            for name in list(_expired(kept, now)):
                del kept[name]
            if not kept:
                del self._kept[owner]
        with suppress(StorageUnavailable):
            self._db.append(FORGET_KEYS, (now,))
            if now > self._latest:
                self._latest = None


def _expired(kept: OrderedDict[str, StoredResponse], now: float) -> Iterator[str]:
    """Yield the names of expired responses; `kept` must be ordered by expiry."""
    for name, item in kept.items():
        if item.until > now:
            return
        yield name
