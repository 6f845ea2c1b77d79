"""Memory for administrators: all memories, with every change audited.

The audit records who, what and the length of a text, with a digest instead of the text: deleted
memories must not survive there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, Conflict, InvalidInput, NotFound, ToolFailed
from app.core.redaction import Redactor
from app.core.text import dump_json
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.domain.memory import Memory, MemoryAuthor, MemoryInput, MemoryScope
from app.governance.audit.log import AuditEntry, AuditLog
from app.knowledge.memory import rows, selection
from app.knowledge.memory.repository import MemoryRepository, PreparedMemory, by_key, place_within
from app.knowledge.memory.selection import MemoryCriteria
from app.knowledge.memory.storage import Storage

PAGE = 500
_DIGEST_CHARS = 16

OnConflict = Literal["fail", "skip", "replace"]


@dataclass(frozen=True, slots=True)
class Imported:
    """Memory from an export; `updated_at` as in rows, or None for now."""

    place: MemoryScope
    draft: MemoryInput
    source: str
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of an import."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: int = 0


class MemoryAdministration:
    """Lists, changes, deletes, exports and imports memories.

    Attributes:
        store: memory service of the tools.
    """

    def __init__(
        self,
        store: MemoryRepository,
        storage: Storage,
        db: DatabaseWriter,
        clock: Clock,
        *,
        audit: AuditLog,
        redactor: Redactor,
    ) -> None:
        self.store = store
        self._storage = storage
        self._index = storage.index
        self._db = db
        self._clock = clock
        self._audit = audit
        self._redactor = redactor

    async def close(self) -> None:
        """Close the storage."""
        await self.store.close()
        await self._storage.close()

    async def page(
        self, filters: MemoryCriteria, *, limit: int, before: int | None = None
    ) -> tuple[list[Memory], int]:
        """Return a page, newest first, and the total. `before` is the last number of the
        previous page.
        """
        return await self._storage.read(
            lambda query: (
                selection.newest(query, filters, self._index, limit=limit, before=before),
                selection.count(query, filters, self._index),
            )
        )

    async def get(self, memory_id: str) -> Memory:
        """Return a memory.

        Raises:
            NotFound: the memory does not exist.
        """
        return await self._storage.read(
            lambda query: _one(query(rows.BY_ID, (memory_id,)), memory_id)
        )

    async def change(
        self,
        memory_id: str,
        *,
        content: str | None,
        tags: Sequence[str] | None,
        actor: str,
        expected: int | None = None,
    ) -> Memory:
        """Change content or tags of a memory; None leaves them.

        Raises:
            NotFound: the memory does not exist.
            VersionMismatch: it has changed since `expected` was read.
            InvalidInput: the new value looks like a secret.
        """
        prepared = await asyncio.to_thread(
            self._prepare, MemoryInput(content or "", tuple(tags or ())), "content or tags"
        )
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> Memory:
            before = _one(transaction.fetch(rows.BY_ID, (memory_id,)), memory_id)
            check_version(expected, before.version)
            wanted = MemoryInput(
                before.content if content is None else prepared.draft.content,
                before.tags if tags is None else prepared.draft.tags,
                before.key,
            )
            words = PreparedMemory.of(wanted).words if content is None else prepared.words
            saved = self.store.save_within(
                *(
                    transaction,
                    before.place,
                    PreparedMemory(wanted, words),
                    MemoryAuthor("admin", actor),
                    moment,
                ),
                expected=before.version,
            )
            if saved.ending == "changed":
                self._note(transaction, "memory.changed", actor, before, saved.memory)
            return saved.memory

        changed = await self._storage.transact(write)
        self.store.written()
        return changed

    async def forget(self, memory_id: str, *, actor: str, expected: int | None = None) -> Memory:
        """Delete a memory permanently and return it.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """

        def write(transaction: Transaction) -> Memory:
            gone = _one(transaction.fetch(rows.BY_ID, (memory_id,)), memory_id)
            check_version(expected, gone.version)
            self.store.drop_within(transaction, place_within(transaction, gone.place), gone.number)
            self._note(transaction, "memory.forgotten", actor, gone, None)
            return gone

        return await self._storage.transact(write)

    async def count(self, filters: MemoryCriteria) -> int:
        """Return the number of matching memories."""
        return await self._storage.read(lambda query: selection.count(query, filters, self._index))

    async def forget_many(
        self, filters: MemoryCriteria, *, actor: str, expected: int | None = None
    ) -> int:
        """Delete all matching memories, some hundreds at a time; return their number.

        Raises:
            Conflict: their number is not `expected`; nothing was deleted.
        """

        def begin(transaction: Transaction) -> tuple[int, int]:
            found = selection.count(transaction.fetch, filters, self._index)
            if expected is not None and found != expected:
                raise Conflict(
                    f"{found} memories match, but {expected} were expected: count them again",
                    matched=found,
                )
            return found, selection.last(transaction.fetch)

        found, upto = await self._storage.transact(begin)
        forgotten = 0
        while forgotten < found:
            dropped = await self._storage.transact(self._dropping(filters, upto, actor))
            if not dropped:
                break  # another process deleted it first
            forgotten += dropped
        return forgotten

    def _dropping(
        self, filters: MemoryCriteria, upto: int, actor: str
    ) -> Callable[[Transaction], int]:
        def drop(transaction: Transaction) -> int:
            found = selection.oldest(
                transaction.fetch, filters, self._index, limit=PAGE, after=0, upto=upto
            )
            for memory in found:
                self.store.drop_within(
                    transaction, place_within(transaction, memory.place), memory.number
                )
            if found:
                self._storage.note(
                    transaction,
                    "memory.forgotten",
                    actor=actor,
                    detail={
                        "filters": filters.facts(),
                        "memories": [_facts(memory) for memory in found],
                    },
                )
            return len(found)

        return drop

    async def export(self, filters: MemoryCriteria, *, actor: str) -> AsyncIterator[bytes]:
        """Yield lines of JSON, oldest first, up to the present newest one; audited before they
        start.
        """
        upto, found = await self._storage.read(
            lambda query: (
                selection.last(query),
                selection.count(query, filters, self._index),
            )
        )
        self._audit.record(
            AuditEntry(
                "memory.exported", actor=actor, detail={"filters": filters.facts(), "count": found}
            )
        )
        await self._db.flush()
        after = 0
        while memories := await self._older(filters, after, upto):
            yield b"".join(dump_json(self.shown(memory)) + b"\n" for memory in memories)
            after = memories[-1].number

    async def _older(self, filters: MemoryCriteria, after: int, upto: int) -> list[Memory]:
        return await self._storage.read(
            lambda query: selection.oldest(
                query, filters, self._index, limit=PAGE, after=after, upto=upto
            )
        )

    def shown(self, memory: Memory) -> dict[str, Any]:
        """Return a memory as JSON. Matches of the operator's current patterns are masked."""
        writer = memory.writer
        return {
            "id": memory.id,
            "scope": memory.place.scope,
            "owner": memory.place.owner,
            "key": memory.key,
            "version": memory.version,
            "content": self._redactor.text(memory.content),
            "tags": [self._redactor.text(tag) for tag in memory.tags],
            "source": writer.source,
            "user_id": writer.user_id,
            "agent_id": writer.agent_id,
            "session_id": writer.session_id,
            "created_at": memory.created_at,
            "updated_at": memory.updated_at,
        }

    async def take_in(
        self, entries: Sequence[Imported], *, on_conflict: OnConflict, actor: str
    ) -> ImportResult:
        """Import memories, all or none.

        Args:
            on_conflict: handling of keys with other content.

        Raises:
            AlreadyExists: a key exists and `on_conflict` is to fail; names the entry.
            InvalidInput: an entry looks like a secret, or its scope is full.
        """

        def prepare() -> list[tuple[Imported, PreparedMemory]]:
            return [
                (entry, self._prepare(entry.draft, f"memories[{number}]"))
                for number, entry in enumerate(entries)
            ]

        prepared = await asyncio.to_thread(prepare)
        now = isoformat(self._clock.now())

        def write(transaction: Transaction) -> ImportResult:
            counts = dict.fromkeys(("created", "changed", "unchanged", "skipped"), 0)
            for number, (entry, ready) in enumerate(prepared):
                moment = entry.updated_at or now
                ending = self._take_one(transaction, entry, ready, moment, on_conflict, number)
                counts[ending] += 1
            self._storage.note(
                transaction,
                "memory.imported",
                actor=actor,
                detail={"on_conflict": on_conflict, **counts},
            )
            return ImportResult(**counts)

        result = await self._storage.transact(write)
        self.store.written()
        return result

    def _take_one(
        self,
        transaction: Transaction,
        entry: Imported,
        prepared: PreparedMemory,
        moment: str,
        on_conflict: OnConflict,
        number: int,
    ) -> str:
        draft, expected = prepared.draft, None
        if on_conflict == "replace" and draft.key is not None:
            state = place_within(transaction, entry.place)
            stored = by_key(transaction, state.id, draft.key)
            expected = None if stored is None else stored.version
        try:
            saved = self.store.save_within(
                *(transaction, entry.place, prepared, MemoryAuthor(entry.source), moment),
                expected=expected,
            )
        except ToolFailed as error:
            raise InvalidInput(
                f"memories[{number}]: {error.message}", field=f"memories[{number}]"
            ) from None
        if saved.ending != "conflict":
            return saved.ending
        if on_conflict == "fail":
            raise AlreadyExists(
                f"memories[{number}]: the key {draft.key!r} is used by another memory; "
                "set on_conflict to skip or replace",
                field=f"memories[{number}].key",
            )
        return "skipped"

    def _prepare(self, draft: MemoryInput, field: str) -> PreparedMemory:
        try:
            return self.store.prepare(draft)
        except ToolFailed as error:
            raise InvalidInput(f"{field}: {error.message}", field=field) from None

    def _note(
        self,
        transaction: Transaction,
        kind: str,
        actor: str,
        before: Memory,
        after: Memory | None,
    ) -> None:
        self._storage.note(
            transaction,
            kind,
            actor=actor,
            subject=before.id,
            before=_facts(before),
            after=None if after is None else _facts(after),
        )


def _one(found: Sequence[Sequence[Any]], memory_id: str) -> Memory:
    if not found:
        raise NotFound(f"Memory {memory_id!r} not found", memory_id=memory_id)
    return rows.memory_of(found[0])


def _facts(memory: Memory) -> dict[str, Any]:
    """Return a memory for the audit. Equal texts of two memories have different digests."""
    digest = sha256(f"{memory.id}\n{memory.content}".encode()).hexdigest()
    return {
        "id": memory.id,
        "scope": memory.place.scope,
        "owner": memory.place.owner,
        "key": memory.key,
        "version": memory.version,
        "characters": len(memory.content),
        "digest": digest[:_DIGEST_CHARS],
    }
