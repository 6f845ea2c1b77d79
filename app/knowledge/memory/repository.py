"""Memory in the database: save, recall, read by line, delete.

A write and its index entries are one transaction; reads are concurrent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from app.config.memory import MemorySettings
from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.core.text import clean
from app.db.writer import Transaction
from app.domain.memory import (
    Line,
    Memory,
    MemoryAuthor,
    MemoryInput,
    MemoryScope,
    Page,
    Recalled,
    RecallQuery,
    Saved,
    WriteOutcome,
)
from app.knowledge.memory import rows
from app.knowledge.memory.ranking import CANDIDATES, blended, score
from app.knowledge.memory.reader import Query
from app.knowledge.memory.search_query import is_open, read_question
from app.knowledge.memory.semantic_index import SemanticIndex, drop_vector
from app.knowledge.memory.storage import MemoryQuery, Storage
from app.knowledge.memory.words import words_of

_NEW_PLACE = (
    "INSERT INTO memory_places (scope, owner, counter, total) VALUES (?, ?, 0, 0)"
    " ON CONFLICT (scope, owner) DO NOTHING"
)
_COUNT = "UPDATE memory_places SET counter = ?, total = ? WHERE id = ?"
_ADD = (
    "INSERT INTO memories (id, place_id, key, version, content, tags, source, user_id, agent_id,"
    " session_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGE = (
    "UPDATE memories SET version = ?, content = ?, tags = ?, source = ?, user_id = ?,"
    " agent_id = ?, session_id = ?, updated_at = ? WHERE number = ?"
)
_DROP = "DELETE FROM memories WHERE number = ?"


_FindAlike = Callable[[Query, Sequence[int]], list[tuple[int, float]]]
"""Search by meaning within scopes; returns numbers of memories with their similarity."""


@dataclass(frozen=True, slots=True)
class PreparedMemory:
    """Validated draft, and the words by which it is found."""

    draft: MemoryInput
    words: str

    @classmethod
    def of(cls, draft: MemoryInput) -> Self:
        """Split the words, which takes many milliseconds for a long text."""
        return cls(draft, " ".join(words_of(draft.content)))


@dataclass(slots=True)
class ScopeState:
    """State of a scope in a transaction: `counter` is its newest version, `total` its size."""

    id: int
    counter: int
    total: int


class MemoryRepository:
    """`AgentMemory` in a `Storage`."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        redactor: Redactor,
        settings: MemorySettings,
        meanings: SemanticIndex | None,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._redactor = redactor
        self._settings = settings
        self._meanings = meanings

    async def close(self) -> None:
        """Stop background work."""
        if self._meanings is not None:
            await self._meanings.close()

    @property
    def asks_before_sharing(self) -> bool:
        return self._settings.ask_before_sharing

    async def save(
        self, place: MemoryScope, draft: MemoryInput, writer: MemoryAuthor, *, expected: int | None
    ) -> Saved:
        prepared = await asyncio.to_thread(self.prepare, draft)
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> Saved:
            return self.save_within(transaction, place, prepared, writer, moment, expected=expected)

        saved = await self._storage.transact(write)
        self.written()
        return saved

    def written(self) -> None:
        """Schedule embeddings for newly committed memories."""
        if self._meanings is not None:
            self._meanings.wake()

    def prepare(self, draft: MemoryInput) -> PreparedMemory:
        """Validate a draft; call it in a thread.

        Raises:
            ToolFailed: `secret_refused`: masking would store a text that nobody wrote.
        """
        for field, text in _fields(draft):
            if (shown := self._redactor.raw_json(text)) != text:
                raise ToolFailed(
                    f"{field} contains what looks like a secret, which memory does not "
                    f"store: save where to find it instead ({shown[:300]})",
                    code="secret_refused",
                    field=field,
                )
        key = None if draft.key is None else clean(draft.key)
        tags = tuple(dict.fromkeys(clean(tag).strip() for tag in draft.tags))
        content = clean(draft.content).replace("\0", "\ufffd")
        return PreparedMemory.of(MemoryInput(content, tags, key))

    def save_within(
        self,
        transaction: Transaction,
        place: MemoryScope,
        prepared: PreparedMemory,
        writer: MemoryAuthor,
        moment: str,
        *,
        expected: int | None,
    ) -> Saved:
        """Save a prepared draft within a transaction."""
        draft = prepared.draft
        state = place_within(transaction, place)
        stored = None if draft.key is None else by_key(transaction, state.id, draft.key)
        if stored is not None:
            return self._replace(transaction, state, stored, prepared, writer, moment, expected)
        if expected is not None:
            raise _missing(place, str(draft.key))
        if state.total >= self._settings.max_memories:
            raise ToolFailed(
                f"The {place.scope} has reached its maximum of {state.total} memories: "
                "delete some with memory_forget, or raise "
                "TOLLGATE_MEMORY__MAX_MEMORIES",
                code="memory_full",
                limit=self._settings.max_memories,
            )
        state.counter += 1
        state.total += 1
        key = draft.key or _free_key(transaction, state)
        id_, version = new_id("mem"), state.counter
        who = (writer.source, writer.user_id, writer.agent_id, writer.session_id)
        text = rows.tags_text(draft.tags)
        transaction.execute(
            _ADD, (id_, state.id, key, version, draft.content, text, *who, moment, moment)
        )
        number = int(transaction.fetch("SELECT number FROM memories WHERE id = ?", (id_,))[0][0])
        self._written(transaction, state, number, prepared)
        made = Memory(
            *(number, id_, place, key, version, draft.content, draft.tags, writer, moment, moment)
        )
        return self._saved("created", made, state)

    def _replace(
        self,
        transaction: Transaction,
        state: ScopeState,
        stored: Memory,
        prepared: PreparedMemory,
        writer: MemoryAuthor,
        moment: str,
        expected: int | None,
    ) -> Saved:
        draft = prepared.draft
        if (stored.content, stored.tags) == (draft.content, draft.tags):
            return self._saved("unchanged", stored, state)
        if expected != stored.version:
            return self._saved("conflict", stored, state)
        state.counter += 1
        who = (writer.source, writer.user_id, writer.agent_id, writer.session_id)
        text = rows.tags_text(draft.tags)
        row = (state.counter, draft.content, text, *who, moment, stored.number)
        transaction.execute(_CHANGE, row)
        self._written(transaction, state, stored.number, prepared)
        changed = replace(
            stored,
            version=state.counter,
            content=draft.content,
            tags=draft.tags,
            writer=writer,
            updated_at=moment,
        )
        return self._saved("changed", changed, state)

    def _written(
        self, transaction: Transaction, state: ScopeState, number: int, prepared: PreparedMemory
    ) -> None:
        tags = prepared.draft.tags
        self._storage.index.keep(transaction, number, state.id, prepared.words, tags)
        drop_vector(transaction, number)
        transaction.execute(_COUNT, (state.counter, state.total, state.id))

    def _saved(self, ending: WriteOutcome, memory: Memory, state: ScopeState) -> Saved:
        limit = self._settings.max_memories
        warns = state.total * 100 >= limit * self._settings.warn_percent
        return Saved(ending, memory, state.total, limit, warns)

    def drop_within(self, transaction: Transaction, state: ScopeState, number: int) -> None:
        """Delete a memory and its words."""
        self._storage.index.drop(transaction, number)
        drop_vector(transaction, number)
        transaction.execute(_DROP, (number,))
        state.total -= 1
        transaction.execute(_COUNT, (state.counter, state.total, state.id))

    async def forget(self, place: MemoryScope, key: str, *, expected: int | None) -> Memory:
        def write(transaction: Transaction) -> Memory:
            state = place_within(transaction, place)
            stored = by_key(transaction, state.id, key)
            if stored is None:
                raise _missing(place, key)
            if expected is not None and expected != stored.version:
                raise ToolFailed(
                    f"{key!r} has changed: expected version {expected}, found "
                    f"{stored.version}; recall it again",
                    code="memory_conflict",
                    version=stored.version,
                )
            self.drop_within(transaction, state, stored.number)
            return stored

        return await self._storage.transact(write)

    async def recall(self, places: Sequence[MemoryScope], wanted: RecallQuery) -> Recalled:
        now = self._clock.time()
        meant, words_alone = await self._meant(wanted)

        def find(query: Query) -> Recalled:
            question = read_question(wanted.query or "", wanted.mode)
            words, left_out = question.expression, question.left_out
            no_words = wanted.query is not None and words is None
            if words is None and not wanted.tags:
                return Recalled((), 0, no_words)
            ids = _place_ids(query, places)
            if not ids:
                return Recalled((), 0, no_words, left_out)
            match, index = MemoryQuery(ids, wanted.tags, words), self._storage.index
            find_them = index.best if words else index.newest
            found = find_them(query, match, CANDIDATES)
            relevance = blended(found, meant(query, ids) if meant else ())
            memories = _memories(query, places, list(relevance))
            best = self._best(relevance, memories, now)[: wanted.limit]
            is_all = len(found) < CANDIDATES
            matched = len(relevance) if is_all else index.count(query, match)
            lines = _numbered(query, ids, best)
            return Recalled(lines, matched, no_words, left_out, words_alone)

        return await self._storage.read(find)

    async def _meant(self, wanted: RecallQuery) -> tuple[_FindAlike | None, bool]:
        """Return the search by meaning, and whether it is required but unavailable."""
        question, meanings = wanted.query, self._meanings
        if meanings is None or question is None or wanted.mode == "and" or not is_open(question):
            return None, False
        meanings.start()
        meaning = await meanings.of(question)
        if meaning is None:
            return None, True
        return lambda query, ids: meanings.find(query, ids, wanted.tags, meaning), False

    def _best(
        self, found: dict[int, float], memories: dict[int, Memory], now: float
    ) -> list[Memory]:
        """Return the best by score; of equal ones the newer first."""
        half_life = self._settings.half_life_days
        scored = [
            (score(rank, memories[number].updated_at, now, half_life), number)
            for number, rank in found.items()
            if number in memories
        ]
        return [memories[number] for _, number in sorted(scored, reverse=True)]

    async def read(self, places: Sequence[MemoryScope], start: int, end: int) -> Page:
        def page(query: Query) -> Page:
            ids = _place_ids(query, places)
            total = _total(query, ids)
            first = max(1, start if start > 0 else total + 1 + start)
            last = min(total, end if end > 0 else total + 1 + end)
            if not ids or first > last:
                return Page((), total)
            numbers = query(
                f"SELECT number FROM memories WHERE place_id IN ({_marks(ids)})"  # noqa: S608 - marks
                " ORDER BY number LIMIT ? OFFSET ?",
                (*ids, last - first + 1, first - 1),
            )
            memories = _memories(query, places, [number for (number,) in numbers])
            lines = [Line(first + at, memories[number]) for at, (number,) in enumerate(numbers)]
            return Page(lines, total)

        return await self._storage.read(page)

    async def line_of(self, places: Sequence[MemoryScope], memory: Memory) -> tuple[int, int]:
        def count(query: Query) -> tuple[int, int]:
            ids = _place_ids(query, places)
            total = _total(query, ids)
            # From the end: recent memories are requested most.
            sql = (
                f"SELECT COUNT(*) FROM memories WHERE place_id IN ({_marks(ids)})"  # noqa: S608 - marks
                " AND number > ?"
            )
            return total - query(sql, (*ids, memory.number))[0][0], total

        return await self._storage.read(count)


def place_within(transaction: Transaction, place: MemoryScope) -> ScopeState:
    """Return the scope; created at the first write."""
    values = (place.scope, place.owner)
    transaction.execute(_NEW_PLACE, values)
    return ScopeState(*transaction.fetch(rows.PLACE, values)[0])


def by_key(transaction: Transaction, place_id: int, key: str) -> Memory | None:
    """Return the memory with the key."""
    found = transaction.fetch(rows.BY_KEY, (place_id, key))
    return rows.memory_of(found[0]) if found else None


def _free_key(transaction: Transaction, state: ScopeState) -> str:
    """Return a short unused key: `m` and the counter."""
    while by_key(transaction, state.id, f"m{state.counter}") is not None:
        state.counter += 1
    return f"m{state.counter}"


def _missing(place: MemoryScope, key: str) -> ToolFailed:
    return ToolFailed(
        f"The {place.scope} has no memory with the key {key!r}; use memory_recall to list the keys",
        code="not_found",
        key=key,
    )


def _fields(draft: MemoryInput) -> list[tuple[str, str]]:
    return [
        ("content", draft.content),
        ("key", draft.key or ""),
        *(("tags", tag) for tag in draft.tags),
    ]


def _place_ids(query: Query, places: Sequence[MemoryScope]) -> list[int]:
    found = [query(rows.PLACE, (place.scope, place.owner)) for place in places]
    return [row[0][0] for row in found if row]


def _memories(query: Query, places: Sequence[MemoryScope], numbers: list[int]) -> dict[int, Memory]:
    """Return memories by number; verifies that they are in the scopes, since the index is not
    trusted.
    """
    sql = f"{rows.MEMORIES} WHERE m.number IN ({_marks(numbers)})"
    memories = map(rows.memory_of, query(sql, numbers))
    return {memory.number: memory for memory in memories if memory.place in places}


def _total(query: Query, ids: Sequence[int]) -> int:
    sql = f"SELECT COALESCE(SUM(total), 0) FROM memory_places WHERE id IN ({_marks(ids)})"  # noqa: S608 - marks
    return int(query(sql, ids)[0][0])


def _numbered(query: Query, ids: Sequence[int], memories: Sequence[Memory]) -> list[Line]:
    """Return each memory with its line number, in one pass over the index."""
    sql = (
        f"SELECT COUNT(*) FROM memories WHERE place_id IN ({_marks(ids)})"  # noqa: S608 - marks
        " AND number > ? AND number <= ?"
    )
    lines: dict[int, int] = {}
    line, previous = 0, -1
    for number in sorted(memory.number for memory in memories):
        line += query(sql, (*ids, previous, number))[0][0]
        lines[number], previous = line, number
    return [Line(lines[memory.number], memory) for memory in memories]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" for _ in values) or "NULL"
