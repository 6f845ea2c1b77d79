"""What the planning tools keep, as Protocols; the composition root binds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

TODO_LISTS = "todo_lists"
TASKS = "tasks"
CALENDAR = "calendar"
FORUM = "forum"

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]
TaskStatus = Literal["open", "in_progress", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One thing to do; `parent` is the id of the item it is a part of."""

    id: str
    content: str
    status: TodoStatus = "pending"
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class TodoList:
    """A session's list. `revision` counts its changes; 0 is a list that nobody has written."""

    items: tuple[TodoItem, ...] = ()
    revision: int = 0
    updated_at: str | None = None


@runtime_checkable
class TodoLists(Protocol):
    """The service `TODO_LISTS`: one list a session."""

    async def read(self, session_id: str) -> TodoList:
        """The list; an empty one when there is none yet."""

    async def write(
        self,
        session_id: str,
        items: Sequence[TodoItem],
        *,
        merge: bool,
        expected: int | None = None,
    ) -> TodoList:
        """Replace the list, or with `merge` change items by id and append new ones.

        Raises:
            ToolFailed: `revision_mismatch` when `expected` is not the revision that is there;
                `too_many_items`; `unknown_parent`.
        """


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a user. `due` is a date (`2026-11-30`) or a time in UTC."""

    id: str
    title: str
    notes: str
    status: TaskStatus
    due: str | None
    version: int
    created_by: str
    created_at: str
    updated_at: str


@runtime_checkable
class Tasks(Protocol):
    """The service `TASKS`: tasks by owner; one owner never sees another's."""

    async def create(self, owner: str, *, title: str, notes: str, due: str | None, by: str) -> Task:
        """A new task.

        Raises:
            ToolFailed: `too_many_tasks`.
        """

    async def find(
        self,
        owner: str,
        *,
        statuses: Sequence[TaskStatus],
        due_before: str | None,
        query: str | None,
        limit: int,
    ) -> tuple[list[Task], int]:
        """The tasks that are due first, and how many there are in all. No status is any."""

    async def get(self, owner: str, task_id: str) -> Task:
        """One task.

        Raises:
            ToolFailed: `not_found`.
        """

    async def update(
        self, owner: str, task_id: str, changes: dict[str, str | None], *, expected: int | None
    ) -> Task:
        """Change `title`, `notes`, `status` or `due`.

        Raises:
            ToolFailed: `not_found`; `version_mismatch` when `expected` is not the version.
        """

    async def delete(self, owner: str, task_id: str) -> Task:
        """Delete a task; what it was.

        Raises:
            ToolFailed: `not_found`.
        """


@dataclass(frozen=True, slots=True)
class Appointment:
    """An entry of a calendar: `[starts_at, ends_at)` in UTC, shown in `timezone`."""

    id: str
    title: str
    notes: str
    starts_at: str
    ends_at: str
    timezone: str
    all_day: bool
    created_by: str
    created_at: str


@runtime_checkable
class Calendar(Protocol):
    """The service `CALENDAR`: appointments by owner."""

    async def add(
        self, owner: str, appointment: Appointment
    ) -> tuple[Appointment, list[Appointment]]:
        """Keep it under a new id; with it, what of the calendar overlaps it.

        Raises:
            ToolFailed: `too_many_appointments`.
        """

    async def between(
        self, owner: str, start: str | None, end: str | None, limit: int
    ) -> tuple[list[Appointment], int]:
        """What touches `[start, end)`, the earliest first, and how many there are in all.

        Without `start` from now on, without `end` for ever.
        """

    async def remove(self, owner: str, appointment_id: str) -> Appointment:
        """Remove it; what it was.

        Raises:
            ToolFailed: `not_found`.
        """


@dataclass(frozen=True, slots=True)
class Post:
    """A post. `number` names it within the installation; a reply has the `reply_to` of its
    thread and no title of its own."""

    number: int
    board: str
    reply_to: int | None
    title: str
    body: str
    author: str
    created_at: str
    replies: int = 0


@runtime_checkable
class Forum(Protocol):
    """The service `FORUM`: boards of a project, for all agents that work in it."""

    async def post(
        self,
        project_id: str,
        *,
        board: str,
        title: str,
        body: str,
        author: str,
        user_id: str,
        reply_to: int | None = None,
    ) -> Post:
        """Add a post; a reply goes to the board and thread of what it answers.

        Raises:
            ToolFailed: `not_found` for a thread that is not there; `too_many_posts`.
        """

    async def threads(
        self, project_id: str, board: str | None, query: str | None, limit: int, before: int | None
    ) -> list[Post]:
        """The newest threads, of one board or of all."""

    async def thread(
        self, project_id: str, number: int, limit: int, after: int
    ) -> tuple[Post, list[Post]]:
        """The thread that `number` is in: its first post, and replies with a number > `after`.

        Raises:
            ToolFailed: `not_found`.
        """
