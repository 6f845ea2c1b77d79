"""To-do lists, tasks, appointments and forum posts, and their services."""

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
    """One item; `parent` is the ID of the item it is part of."""

    id: str
    content: str
    status: TodoStatus = "pending"
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class TodoList:
    """List of a session. `revision` counts its changes; 0 is a list never written."""

    items: tuple[TodoItem, ...] = ()
    revision: int = 0
    updated_at: str | None = None


@runtime_checkable
class TodoLists(Protocol):
    """Service `TODO_LISTS`: one list per session."""

    async def read(self, session_id: str) -> TodoList:
        """Return the list; an empty one if there is none yet."""

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
            ToolFailed: `revision_mismatch` if `expected` is not the current revision;
                `too_many_items`; `unknown_parent`.
        """


@dataclass(frozen=True, slots=True)
class Task:
    """Task of a user. `due` is a date (`2026-11-30`) or a time in UTC."""

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
    """Service `TASKS`: tasks by owner; an owner never sees those of others."""

    async def create(self, owner: str, *, title: str, notes: str, due: str | None, by: str) -> Task:
        """Create a task.

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
        """Return the tasks with the earliest due date, and their total. None matches any status."""

    async def get(self, owner: str, task_id: str) -> Task:
        """Return a task.

        Raises:
            ToolFailed: `not_found`.
        """

    async def update(
        self, owner: str, task_id: str, changes: dict[str, str | None], *, expected: int | None
    ) -> Task:
        """Change `title`, `notes`, `status` or `due`.

        Raises:
            ToolFailed: `not_found`; `version_mismatch` if `expected` is not the version.
        """

    async def delete(self, owner: str, task_id: str) -> Task:
        """Delete a task and return it.

        Raises:
            ToolFailed: `not_found`.
        """


@dataclass(frozen=True, slots=True)
class Appointment:
    """Appointment `[starts_at, ends_at)` in UTC, shown in `timezone`."""

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
    """Service `CALENDAR`: appointments by owner."""

    async def add(
        self, owner: str, appointment: Appointment
    ) -> tuple[Appointment, list[Appointment]]:
        """Store an appointment under a new ID; return it with overlapping appointments.

        Raises:
            ToolFailed: `too_many_appointments`.
        """

    async def between(
        self, owner: str, start: str | None, end: str | None, limit: int
    ) -> tuple[list[Appointment], int]:
        """Return appointments that overlap `[start, end)`, earliest first, and their total.

        `start` defaults to now, `end` to no limit.
        """

    async def remove(self, owner: str, appointment_id: str) -> Appointment:
        """Remove an appointment and return it.

        Raises:
            ToolFailed: `not_found`.
        """


@dataclass(frozen=True, slots=True)
class Post:
    """Forum post. `number` is unique within the installation.

    A reply has the `reply_to` of its thread and no title.
    """

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
    """Service `FORUM`: boards of a project, for all agents that work in it."""

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
        """Add a post; a reply belongs to the board and thread of the answered post.

        Raises:
            ToolFailed: `not_found` for an unknown thread; `too_many_posts`.
        """

    async def threads(
        self, project_id: str, board: str | None, query: str | None, limit: int, before: int | None
    ) -> list[Post]:
        """Return the newest threads, of one board or all."""

    async def thread(
        self, project_id: str, number: int, limit: int, after: int
    ) -> tuple[Post, list[Post]]:
        """Return the thread of post `number`: its first post, and replies with a number > `after`.

        Raises:
            ToolFailed: `not_found`.
        """
