"""All boards of an installation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from app.core.clock import Clock
from app.db.writer import DatabaseWriter
from app.domain.plans import CALENDAR, FORUM, TASKS, TODO_LISTS
from app.governance.audit.log import AuditLog
from app.knowledge.boards.appointments import StoredCalendar
from app.knowledge.boards.forum import ForumRepository
from app.knowledge.boards.tasks import StoredTasks
from app.knowledge.boards.todos import StoredTodoLists
from app.toolkit.services import Services


@dataclass(frozen=True, slots=True)
class Boards:
    """Planning services: a todo list per session, tasks and a calendar per user, a forum."""

    todos: StoredTodoLists
    tasks: StoredTasks
    calendar: StoredCalendar
    forum: ForumRepository

    @classmethod
    def on(cls, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> Self:
        return cls(
            StoredTodoLists(db, clock),
            StoredTasks(db, clock),
            StoredCalendar(db, clock),
            ForumRepository(db, clock, audit),
        )

    def offer(self, services: Services) -> None:
        """Register the boards for tools."""
        services.register(TODO_LISTS, self.todos)
        services.register(TASKS, self.tasks)
        services.register(CALENDAR, self.calendar)
        services.register(FORUM, self.forum)
