"""Tasks of users that outlive a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.errors import ToolFailed
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.domain.plans import Task, TaskStatus
from app.knowledge.boards.text_search import LIKE, pattern_of

MAX_TASKS = 10_000

_COLUMNS = "id, title, notes, status, due, version, created_by, created_at, updated_at"
_ADD = (
    "INSERT INTO tasks (owner, id, title, notes, status, due, version, created_by, created_at,"
    " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ONE = f"SELECT {_COLUMNS} FROM tasks WHERE owner = ? AND id = ?"  # noqa: S608 - constants of this file
_CHANGE = (
    "UPDATE tasks SET title = ?, notes = ?, status = ?, due = ?, version = ?, updated_at = ?"
    " WHERE owner = ? AND id = ?"
)
_DELETE = "DELETE FROM tasks WHERE owner = ? AND id = ?"
_COUNT = "SELECT COUNT(*) FROM tasks WHERE owner = ?"


class StoredTasks:
    """`Tasks` in the database."""

    def __init__(self, db: DatabaseWriter, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def create(self, owner: str, *, title: str, notes: str, due: str | None, by: str) -> Task:
        moment = isoformat(self._clock.now())
        task = Task(new_id("task"), title, notes, "open", due, 1, by, moment, moment)

        def add(transaction: Transaction) -> None:
            if transaction.fetch(_COUNT, (owner,))[0][0] >= MAX_TASKS:
                raise ToolFailed(
                    f"The maximum of {MAX_TASKS} tasks is reached: delete some",
                    code="too_many_tasks",
                )
            values = (task.id, title, notes, "open", due, 1, by, moment, moment)
            transaction.execute(_ADD, (owner, *values))

        await self._db.transact(add)
        return task

    async def find(
        self,
        owner: str,
        *,
        statuses: Sequence[TaskStatus],
        due_before: str | None,
        query: str | None,
        limit: int,
    ) -> tuple[list[Task], int]:
        where, values = ["owner = ?"], [owner]
        if statuses:
            where.append(f"status IN ({', '.join('?' for _ in statuses)})")
            values += statuses
        if due_before is not None:
            where.append("due < ?")
            values.append(due_before)
        if query:
            where.append(f"(title {LIKE} OR notes {LIKE})")
            values += [pattern_of(query)] * 2
        condition = " AND ".join(where)

        def read(transaction: Transaction) -> tuple[list[Task], int]:
            counted = f"SELECT COUNT(*) FROM tasks WHERE {condition}"  # noqa: S608 - constants and marks
            rows = transaction.fetch(
                f"SELECT {_COLUMNS} FROM tasks WHERE {condition}"  # noqa: S608 - as above
                " ORDER BY due IS NULL, due, created_at, id LIMIT ?",
                (*values, limit),
            )
            return [Task(*row) for row in rows], transaction.fetch(counted, values)[0][0]

        return await self._db.transact(read)

    async def get(self, owner: str, task_id: str) -> Task:
        return await self._db.transact(lambda transaction: _one(transaction, owner, task_id))

    async def update(
        self, owner: str, task_id: str, changes: dict[str, str | None], *, expected: int | None
    ) -> Task:
        moment = isoformat(self._clock.now())

        def change(transaction: Transaction) -> Task:
            before = _one(transaction, owner, task_id)
            if expected is not None and expected != before.version:
                raise ToolFailed(
                    f"The task has changed: expected version {expected}, found "
                    f"{before.version}; read it again",
                    code="version_mismatch",
                    version=before.version,
                )
            new: dict[str, Any] = {
                name: changes.get(name, getattr(before, name))
                for name in ("title", "notes", "status", "due")
            }
            row = (*new.values(), before.version + 1, moment, owner, task_id)
            transaction.execute(_CHANGE, row)
            return _one(transaction, owner, task_id)

        return await self._db.transact(change)

    async def delete(self, owner: str, task_id: str) -> Task:
        def drop(transaction: Transaction) -> Task:
            gone = _one(transaction, owner, task_id)
            transaction.execute(_DELETE, (owner, task_id))
            return gone

        return await self._db.transact(drop)


def _one(transaction: Transaction, owner: str, task_id: str) -> Task:
    found = transaction.fetch(_ONE, (owner, task_id))
    if not found:
        raise ToolFailed(f"Task {task_id!r} not found; use `list` to show all", code="not_found")
    return Task(*found[0])
