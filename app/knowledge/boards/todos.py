"""Todo lists: one per session, written as a whole, so that two writers cannot mix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.db.writer import DatabaseWriter, Transaction
from app.domain.plans import TodoItem, TodoList

MAX_ITEMS = 256

_READ = "SELECT items, revision, updated_at FROM todo_lists WHERE session_id = ?"
_WRITE = (
    "INSERT INTO todo_lists (session_id, revision, items, updated_at) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (session_id) DO UPDATE SET revision = excluded.revision,"
    " items = excluded.items, updated_at = excluded.updated_at"
)


class StoredTodoLists:
    """`TodoLists` in the database."""

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def read(self, session_id: str) -> TodoList:
        return await self._db.transact(lambda transaction: _read(transaction, session_id))

    async def write(
        self,
        session_id: str,
        items: Sequence[TodoItem],
        *,
        merge: bool,
        expected: int | None = None,
    ) -> TodoList:
        moment = isoformat(self._clock.now())

        def replace(transaction: Transaction) -> TodoList:
            before = _read(transaction, session_id)
            if expected is not None and expected != before.revision:
                raise ToolFailed(
                    f"The list has changed: expected revision {expected}, found "
                    f"{before.revision}; read it again",
                    code="revision_mismatch",
                    revision=before.revision,
                )
            after = _checked(_merged(before.items, items) if merge else tuple(items))
            written = TodoList(after, before.revision + 1, moment)
            stored = orjson.dumps([asdict(item) for item in after]).decode()
            transaction.execute(_WRITE, (session_id, written.revision, stored, moment))
            return written

        return await self._db.transact(replace)


def _read(transaction: Transaction, session_id: str) -> TodoList:
    found = transaction.fetch(_READ, (session_id,))
    if not found:
        return TodoList()
    items, revision, updated_at = found[0]
    return TodoList(tuple(TodoItem(**item) for item in orjson.loads(items)), revision, updated_at)


def _merged(before: Sequence[TodoItem], changed: Sequence[TodoItem]) -> tuple[TodoItem, ...]:
    """Return the list with changed items in place, and new ones at the end."""
    by_id = {item.id: item for item in before}
    by_id.update((item.id, item) for item in changed)
    return tuple(by_id.values())


def _checked(items: tuple[TodoItem, ...]) -> tuple[TodoItem, ...]:
    if len(items) > MAX_ITEMS:
        raise ToolFailed(
            f"A list can have at most {MAX_ITEMS} items, but this one would have "
            f"{len(items)}: remove finished items",
            code="too_many_items",
        )
    parents = {item.id: item.parent for item in items}
    if len(parents) < len(items):
        raise ToolFailed("Two items have the same ID", code="duplicate_id")
    for item in items:
        _check_line(item.id, parents)
    return items


def _check_line(item_id: str, parents: dict[str, str | None]) -> None:
    """Check that an item's parents are in the list, without cycles."""
    above, seen = parents[item_id], {item_id}
    while above is not None:
        if above not in parents:
            raise ToolFailed(
                f"The parent {above!r} of item {item_id!r} is not in the list",
                code="unknown_parent",
            )
        if above in seen:
            raise ToolFailed(f"Item {item_id!r} is its own ancestor", code="unknown_parent")
        seen.add(above)
        above = parents[above]
