"""Search for memories by meaning, if the operator has configured an embedding server.

Vectors are computed in the background: saving does not wait, and memories without a vector are
found by words. A failing server is skipped for a while, and words are used alone.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import mul
from typing import NamedTuple

from app.core.error_boundary import ErrorBoundary
from app.core.errors import StorageUnavailable
from app.core.redaction import Redactor
from app.core.text import clean
from app.db.writer import Transaction
from app.knowledge.memory.ranking import CANDIDATES
from app.knowledge.memory.reader import Query
from app.knowledge.memory.storage import MemoryQuery, Storage
from app.operations.embeddings.embedder import (
    MAX_TEXTS,
    Embedder,
    EmbedderFailed,
    TextRefused,
    Vector,
)

log = logging.getLogger(__name__)

REST_S = 60.0
QUESTION_S = 5.0
# A server that refuses this one too refuses everything.
_HARMLESS = "hello"
_MISSING = (
    "SELECT m.number, m.version, m.content FROM memories m"
    " LEFT JOIN memory_vectors v ON v.number = m.number AND v.model = ?"
    " WHERE v.number IS NULL ORDER BY m.number DESC LIMIT ?"
)
# Otherwise a concurrently changed memory would get the vector of its old text.
_KEEP = (
    "INSERT INTO memory_vectors (number, model, bits, vector)"
    " SELECT m.number, CAST(? AS TEXT), ?, ? FROM memories m WHERE m.number = ? AND m.version = ?"
    " ON CONFLICT (number) DO UPDATE SET model = excluded.model, bits = excluded.bits,"
    " vector = excluded.vector"
)
_DROP = "DELETE FROM memory_vectors WHERE number = ?"
_BITS = (
    "SELECT v.number, v.bits FROM memory_vectors v JOIN memories m ON m.number = v.number"
    " WHERE v.model = ?"
)

_Text = tuple[int, int, str]
"""Number, version and content of a memory."""

NOTHING = b""
"""Placeholder for a text without a vector, so that it is not requested again."""


def drop_vector(transaction: Transaction, number: int) -> None:
    """Delete the vector of a changed or deleted memory."""
    transaction.execute(_DROP, (number,))


# Vectors of memories: packed for the database, with nearest neighbor search.
#
# The signs of each vector are stored too, one bit per number. Comparing bits selects near
# candidates among a hundred thousand memories in some ten milliseconds without a library; only the
# best are compared exactly.


class Packed(NamedTuple):
    """Vector of length 1: its signs, and its numbers as little-endian 32-bit floats."""

    bits: bytes
    numbers: bytes


def packed(vector: Vector) -> Packed:
    """Pack any vector except zero."""
    length = math.hypot(*vector)
    signs = "".join("1" if number > 0 else "0" for number in vector)
    bits = int(signs, 2).to_bytes((len(vector) + 7) // 8, "big")
    return Packed(bits, struct.pack(f"<{len(vector)}f", *(number / length for number in vector)))


def nearest(rows: Iterable[tuple[int, bytes]], wanted: Packed, limit: int) -> list[int]:
    """Return the numbers with the most similar bits; other lengths are skipped."""
    size, bits = len(wanted.bits), int.from_bytes(wanted.bits, "big")
    differing = (
        ((int.from_bytes(other, "big") ^ bits).bit_count(), number)
        for number, other in rows
        if len(other) == size
    )
    return [number for _, number in heapq.nsmallest(limit, differing)]


def likeness(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors of length 1, from −1 to 1; −1 if incomparable."""
    if len(one) != len(other):
        return -1.0
    cosine: float = sum(map(mul, _numbers(one), _numbers(other)))
    return cosine


def _numbers(numbers: bytes) -> Sequence[float]:
    return struct.unpack(f"<{len(numbers) // 4}f", numbers)


class SemanticIndex:
    """Vectors of all memories, with search."""

    def __init__(
        self, storage: Storage, embedder: Embedder, redactor: Redactor, *, least: float
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._redactor = redactor
        self._least = least
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._rests_until = 0.0

    def start(self) -> None:
        """Start the embedding of memories without a vector, unless already started."""
        if self._task is None:
            self._task = asyncio.create_task(self._fill(), name="memory vectors")
            self._wanted.set()

    def wake(self) -> None:
        """Signal that there are memories without a vector."""
        self.start()
        self._wanted.set()

    async def close(self) -> None:
        """Stop; remaining memories get vectors after the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def of(self, question: str) -> Packed | None:
        """Return the vector of a text; None while the server is unavailable."""
        now = asyncio.get_running_loop().time
        if now() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(QUESTION_S):
                (vector,) = await self._embedder.embed([self._shown(question)])
        except TextRefused:
            return None
        except (EmbedderFailed, TimeoutError) as error:
            self._rest(error)
            return None
        return packed(vector)

    def find(
        self, query: Query, place_ids: Sequence[int], tags: Sequence[str], question: Packed
    ) -> list[tuple[int, float]]:
        """Return numbers of similar memories with their similarity, above 0 and up to 1."""
        marks = ", ".join("?" for _ in place_ids)
        sql = f"{_BITS} AND m.place_id IN ({marks})"
        values = [self._embedder.model, *place_ids]
        if tags:
            condition, more = self._storage.index.condition(MemoryQuery(place_ids, tags))
            sql, values = f"{sql} AND {condition}", [*values, *more]
        near = nearest([(row[0], row[1]) for row in query(sql, values)], question, CANDIDATES)
        marks = ", ".join("?" for _ in near) or "NULL"
        rows = query(f"SELECT number, vector FROM memory_vectors WHERE number IN ({marks})", near)  # noqa: S608 - marks
        alike = [(number, likeness(vector, question.numbers)) for number, vector in rows]
        return [(number, like) for number, like in alike if like > 0 and like >= self._least]

    async def _fill(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            with ErrorBoundary(asyncio.current_task()) as held:
                while texts := await self._storage.read(self._missing):
                    await self._keep(texts)
            if held.error is not None:
                if not isinstance(held.error, (EmbedderFailed, StorageUnavailable)):
                    log.error("cannot create vectors of memories", exc_info=held.error)
                self._rest(held.error)
                await asyncio.sleep(REST_S)
                self._wanted.set()

    def _missing(self, query: Query) -> list[_Text]:
        found = query(_MISSING, (self._embedder.model, MAX_TEXTS))
        return [(number, version, content) for number, version, content in found]

    async def _keep(self, texts: Sequence[_Text]) -> None:
        """Store the vectors of some texts; one refused by the server gets none."""
        kept = [Packed(NOTHING, NOTHING)]
        try:
            kept = await self._made(texts)
        except TextRefused:
            await self._must_take_others()
            if len(texts) > 1:
                for text in texts:
                    await self._keep([text])
                return
            # The server may have refused everything just before, and accept it now.
            with suppress(TextRefused):
                kept = await self._made(texts)

        def write(transaction: Transaction) -> None:
            for (number, version, _), (bits, numbers) in zip(texts, kept, strict=True):
                row = (self._embedder.model, bits, numbers, number, version)
                transaction.execute(_KEEP, row)

        await self._storage.transact(write)

    async def _made(self, texts: Sequence[_Text]) -> list[Packed]:
        vectors = await self._embedder.embed([self._shown(text) for _, _, text in texts])
        return await asyncio.to_thread(lambda: list(map(packed, vectors)))

    async def _must_take_others(self) -> None:
        """Check that the server accepts other texts, so that only this text is at fault.

        Raises:
            EmbedderFailed: the server refuses all.
        """
        try:
            await self._embedder.embed([_HARMLESS])
        except TextRefused as refusal:
            raise EmbedderFailed(f"it refused every text ({refusal})") from None

    def _shown(self, text: str) -> str:
        """Return the text as sent out: secrets by newer patterns may be stored in it."""
        return clean(self._redactor.text(text))

    def _rest(self, error: BaseException) -> None:
        self._rests_until = asyncio.get_running_loop().time() + REST_S
        said = str(error) or "it timed out"
        log.warning("memories are only searched by words for %d s: %s", REST_S, said)
