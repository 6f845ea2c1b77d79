"""Todo lists: one per session, written as a whole, so that two writers cannot mix."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.db.writer import DatabaseWriter, Transaction
from app.domain.plans import TodoItem, TodoList

MAX_ITEMS = 256
MAX_KNOWN = 512
"""Number of lists in memory: each model request reads the one of its session."""

_READ = "SELECT items, revision, updated_at FROM todo_lists WHERE session_id = ?"
_WRITE = (
    "INSERT INTO todo_lists (session_id, revision, items, updated_at) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (session_id) DO UPDATE SET revision = excluded.revision,"
    " items = excluded.items, updated_at = excluded.updated_at"
)


@dataclass(slots=True, eq=False)
class _Known:
    """List as of the last write that was begun; None until it has been read or written."""

    todo_list: TodoList | None = None


class StoredTodoLists:
    """`TodoLists` in the database, whose lists only this process changes."""

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def read(self, session_id: str) -> TodoList:
        known = self._known.get(session_id) or self._renewed(session_id)
        if known.todo_list is None:
            known.todo_list = await self._db.transact(
                lambda transaction: _read(transaction, session_id)
            )
        else:
            self._known.move_to_end(session_id)
        return known.todo_list

    def _renewed(self, session_id: str) -> _Known:
        """Forget a list; what an earlier read still finds is not kept."""
        known = self._known[session_id] = _Known()
        self._known.move_to_end(session_id)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return known

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

        # Before the write: it may be committed even if this caller is cancelled.
        known = self._renewed(session_id)
        known.todo_list = written = await self._db.transact(replace)
        return written


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
