"""Rows of desktop tasks; each function is part of one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from types import MappingProxyType
from typing import Any

from app.core.errors import NotFound
from app.db.writer import Transaction
from app.domain.channels import TaskStatus, Watermark
from app.governance.config_versions import increment

SUBJECT = "desktop_tasks"
UNTOUCHED: Mapping[str, None] = MappingProxyType(
    dict.fromkeys(("operator", "operator_key", "claim_id", "lease_until", "claimed_at"))
)
"""Column values of a task without an operator."""
FINISHED: tuple[TaskStatus, ...] = ("succeeded", "failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class DesktopTask:
    """Stored task, with the fields of the table in order.

    Attributes:
        operator_key: token of the operator, or its user without one.
        lease_until: time at which its operator counts as lost.
    """

    id: str
    channel_id: str
    model_channel_id: str | None
    app_id: str
    action_type: str
    target: str
    text: str
    watermark: Watermark
    status: TaskStatus
    agent_id: str | None
    user_id: str | None
    session_id: str | None
    run_id: str | None
    operation_id: str
    operator: str | None = None
    operator_key: str | None = None
    claim_id: str | None = None
    lease_until: str | None = None
    created_at: str = ""
    expires_at: str = ""
    claimed_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    result: str | None = None
    code: str | None = None
    error: str | None = None


_NAMES = tuple(field.name for field in fields(DesktopTask))
_COLUMNS = ", ".join(_NAMES)
_SELECT = f"SELECT {_COLUMNS} FROM desktop_tasks"  # noqa: S608 - names of our own
_ADD = f"INSERT INTO desktop_tasks ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608 - names of our own
_OVERDUE = (
    f"{_SELECT} WHERE (status IN ('queued', 'claimed') AND expires_at <= ?)"
    " OR (status IN ('claimed', 'running') AND lease_until <= ?)"
)
_EXTEND = "UPDATE desktop_tasks SET lease_until = ? WHERE id = ?"
_FORGET = (
    "DELETE FROM desktop_tasks WHERE status IN ('succeeded', 'failed', 'expired', 'cancelled')"
    " AND finished_at <= ?"
)


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Filter for tasks; None matches all."""

    status: str | None = None
    channel_id: str | None = None
    app_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None


def add(transaction: Transaction, task: DesktopTask) -> None:
    """Store a new task."""
    transaction.execute(_ADD, astuple(task))
    increment(transaction, SUBJECT)


def change(transaction: Transaction, task_id: str, **values: Any) -> DesktopTask:
    """Change columns of a task; return its new state."""
    unknown = values.keys() - set(_NAMES)
    assert not unknown, unknown
    assignments = ", ".join(f"{name} = ?" for name in values)
    statement = f"UPDATE desktop_tasks SET {assignments} WHERE id = ?"  # noqa: S608 - names of our own
    transaction.execute(statement, (*values.values(), task_id))
    increment(transaction, SUBJECT)
    return get(transaction, task_id)


def extend(transaction: Transaction, task_id: str, lease_until: str) -> None:
    """Extend an operator's lease; other processes are not notified."""
    transaction.execute(_EXTEND, (lease_until, task_id))


def get(transaction: Transaction, task_id: str) -> DesktopTask:
    """Return a task.

    Raises:
        NotFound: the task does not exist.
    """
    found = transaction.fetch(f"{_SELECT} WHERE id = ?", (task_id,))
    if not found:
        raise NotFound(f"Desktop task {task_id!r} not found", task_id=task_id)
    return _of_row(found[0])


def queued(transaction: Transaction, now: str) -> list[DesktopTask]:
    """Return the tasks waiting for an operator, oldest first."""
    where = " WHERE status = 'queued' AND expires_at > ? ORDER BY created_at, rowid"
    return [_of_row(row) for row in transaction.fetch(_SELECT + where, (now,))]


def held_by(transaction: Transaction, operator_key: str, operator: str) -> list[DesktopTask]:
    """Return the tasks that an operator has claimed."""
    where = " WHERE status IN ('claimed', 'running') AND operator_key = ? AND operator = ?"
    return [_of_row(row) for row in transaction.fetch(_SELECT + where, (operator_key, operator))]


def overdue(transaction: Transaction, now: str) -> list[DesktopTask]:
    """Return tasks past their time, and tasks of lost operators."""
    return [_of_row(row) for row in transaction.fetch(_OVERDUE, (now, now))]


def forget(transaction: Transaction, before: str) -> None:
    """Delete tasks finished until then."""
    transaction.execute(_FORGET, (before,))


def waiting_count(transaction: Transaction) -> int:
    """Return the number of unfinished tasks."""
    where = "SELECT COUNT(*) FROM desktop_tasks WHERE status IN ('queued', 'claimed', 'running')"
    return int(transaction.fetch(where)[0][0])


def sent_since(transaction: Transaction, channel_id: str, moment: str) -> int:
    """Return the number of tasks of a channel created after a time."""
    counted = "SELECT COUNT(*) FROM desktop_tasks WHERE channel_id = ? AND created_at > ?"
    return int(transaction.fetch(counted, (channel_id, moment))[0][0])


def page(
    transaction: Transaction, wanted: TaskFilter, *, limit: int, before: str | None
) -> list[DesktopTask]:
    """Return a page, newest first. `before` is the last ID of the previous page.

    Raises:
        NotFound: `before` is not a task.
    """
    parts, values = list[str](), list[Any]()
    for name in ("status", "channel_id", "app_id", "agent_id", "session_id"):
        value = getattr(wanted, name)
        if value is not None:
            parts.append(f"{name} = ?")
            values.append(value)
    if before is not None:
        seen = get(transaction, before)
        parts.append("(created_at, id) < (?, ?)")
        values += [seen.created_at, seen.id]
    where = f" WHERE {' AND '.join(parts)}" if parts else ""
    order = " ORDER BY created_at DESC, id DESC LIMIT ?"
    rows = transaction.fetch(_SELECT + where + order, (*values, limit))
    return [_of_row(row) for row in rows]


def _of_row(row: Sequence[Any]) -> DesktopTask:
    return DesktopTask(*row)
