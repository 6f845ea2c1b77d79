"""Requests under a key of their sender's choice: sent again, they get the answer they got."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from app.core.clock import Clock
from app.core.errors import StorageUnavailable
from app.db.idempotency_statements import FORGET_KEYS, KEEP_KEY
from app.db.writer import DatabaseWriter

if TYPE_CHECKING:
    from app.api.principal import Principal
    from app.db.engine import Database

KEPT_S = 600.0
MAX_KEPT = 10_000
"Stored responses per owner; the oldest are dropped first."
# Of a request without an answer, whose service was killed: it counts from the next start.
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
    """Whose keys they are: the token's, because tokens of one user can hold other rights."""
    return principal.token_id or principal.user_id


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A request that was carried out.

    Attributes:
        content: the digest of the request.
        status: of its answer; `UNANSWERED` when the service ended before there was one.
        answer: as its door writes it; None where it is read from the database.
        until: when it is forgotten, as a Unix time.
    """

    content: str
    status: int
    answer: bytes | None
    until: float

    @property
    def is_unknown(self) -> bool:
        """Whether the outcome of the request is unknown."""
        return self.status == UNANSWERED


class IdempotencyKeys:
    """The requests of the last ten minutes, in the database too.

    What is carried out at the moment its door knows. Between `get` and `begin` or `keep`
    nothing may be awaited.
    """

    def __init__(self, db: DatabaseWriter, clock: Clock, database: Callable[[], Database]) -> None:
        self._db = db
        self._clock = clock
        self._database = database
        self._kept: dict[tuple[Door, str], OrderedDict[str, StoredResponse]] = {}
        self._loaded = False
        # Until when there are answers to remove; a former process may have left some.
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
        """Remove what is too old, here and in the database, for as long as the block lasts."""
        purging = asyncio.create_task(self._purge_now_and_then())
        try:
            yield
        finally:
            purging.cancel()
            await asyncio.wait({purging})

    def get(self, key: Key) -> StoredResponse | None:
        """The request of that key; None when there was none within ten minutes."""
        of_owner = self._kept.get((key.door, key.owner))
        kept = of_owner.get(key.name) if of_owner else None
        return kept if kept is not None and kept.until > self._clock.time() else None

    def begin(self, key: Key) -> None:
        """Write down that a request is carried out, before anything that it does."""
        self._write(key, StoredResponse("", UNANSWERED, None, self._clock.time() + _CLAIMED_S))

    def keep(self, key: Key, content: str, status: int, answer: bytes, *, whole: bool) -> None:
        """Write down the answer to a request, in the commit of what was written just before.

        Args:
            whole: keep the answer itself at hand, and not only in the database.
        """
        until = self._latest = self._clock.time() + KEPT_S
        self._write(key, StoredResponse(content, status, answer, until))
        self._remember(key, StoredResponse(content, status, answer if whole else None, until))

    def lose(self, key: Key) -> None:
        """A request that was begun has ended without an answer."""
        self._remember(key, StoredResponse("", UNANSWERED, None, self._clock.time() + KEPT_S))

    def forget(self, key: Key) -> None:
        """A request that was begun did nothing: it may be sent again."""
        self._of(key).pop(key.name, None)
        self._write(key, StoredResponse("", UNANSWERED, None, 0.0))

    async def answer_of(self, key: Key) -> bytes | None:
        """The stored answer to a request; None when it is not there any more.

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
        # Their answers are large, and read when somebody asks for them.
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
        """Two may have read at the same time; the first of them counts."""
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
    """The oldest come first."""
    for name, item in kept.items():
        if item.until > now:
            return
        yield name
