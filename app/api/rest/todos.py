"""Todo list of a session."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import BaseModel, Field

from app.api.deps import ServiceDep
from app.api.errors import problems
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.session_deps import ReadableSession
from app.core.errors import NotFound

router = routes_of("sessions")

_ITEM = {"id": "1", "content": "Look", "status": "in_progress", "parent": None}


class TodoItemView(BaseModel):
    """An item of a todo list."""

    model_config = example(**_ITEM)

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]
    parent: str | None = Field(description="ID of its parent item.")


class TodoListView(BaseModel):
    """Todo list of a session."""

    model_config = example(todos=[_ITEM], revision=1, updated_at=MOMENT)

    todos: list[TodoItemView]
    revision: int = Field(description="Version of the list; 0 if none has been written.")
    updated_at: str | None


@router.get(
    "/sessions/{session_id}/todos",
    summary="Get the todo list of a session",
    responses=problems(NotFound),
)
async def get_todos(session: ReadableSession, service: ServiceDep) -> TodoListView:
    """Scope `chat`. The tool `todo` writes this list."""
    found = await service.boards.todos.read(session.id)
    items = service.redactor.values_in([asdict(item) for item in found.items])
    return TodoListView(
        todos=[TodoItemView(**item) for item in items],
        revision=found.revision,
        updated_at=found.updated_at,
    )
