"""`todo`: the plan of a session."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, field_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.domain.plans import TODO_LISTS, TodoItem, TodoList, TodoLists
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.planning.returns import TODO_RESULT

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoArgsItem(ToolArgs):
    id: str = Field(min_length=1, max_length=64, description="Unique ID in the list.")
    content: str = Field(min_length=1, max_length=4000, pattern=r"\S", description="What to do.")
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    parent: str | None = Field(default=None, max_length=64, description="ID of its parent item.")


class TodoArgs(ToolArgs):
    todos: list[TodoArgsItem] | None = Field(
        default=None, max_length=256, description="The list; omit it to read."
    )
    merge: bool = Field(
        default=False,
        description="Change items by ID and add new ones; otherwise replace the list.",
    )
    revision: int | None = Field(
        default=None, ge=0, description="Write only if the list is still at this revision."
    )

    @field_validator("todos")
    @classmethod
    def _ids_differ(cls, value: list[TodoArgsItem] | None) -> list[TodoArgsItem] | None:
        twice = [
            key for key, count in Counter(item.id for item in value or ()).items() if count > 1
        ]
        if twice:
            raise FieldError(f"duplicate id {twice[0]!r}", code="repeated", given="id")
        return value


def _from_todo_write(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert `TodoWrite`, which identifies items by position and describes them in two forms."""
    todos = arguments.get("todos")
    if not isinstance(todos, list):
        return arguments
    adapted = []
    for place, item in enumerate(todos, start=1):
        named = {"id": str(place), **item} if isinstance(item, dict) else item
        if isinstance(named, dict):
            named.pop("activeForm", None)
        adapted.append(named)
    return {**arguments, "todos": adapted}


@tool(
    category="planning",
    toolset="planning",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="think",
    requires=(TODO_LISTS,),
    routing_hint="main-process-proxy",
    tags=("plan",),
    aliases=(Alias("TodoWrite", _from_todo_write, families=("claude",)),),
    return_schema=TODO_RESULT,
)
async def todo(args: TodoArgs, ctx: ToolContext) -> ToolResult:
    """Manage the plan of this chat: read it without arguments, write it with `todos`.

    Use it for multi-step work; keep one item in progress and mark items as soon as they are
    completed. Returns the whole list, a summary and the revision.
    """
    if ctx.session_id is None:
        raise ToolFailed("A todo list requires a chat, but there is none", code="no_session")
    lists = ctx.services.require(TODO_LISTS, TodoLists)  # type: ignore[type-abstract]
    if args.todos is None:
        return _shown(await lists.read(ctx.session_id))
    items = [TodoItem(item.id, item.content, item.status, item.parent) for item in args.todos]
    written = await lists.write(ctx.session_id, items, merge=args.merge, expected=args.revision)
    return _shown(written)


def _shown(todos: TodoList) -> ToolResult:
    counts = Counter[str](item.status for item in todos.items)
    summary = {"total": len(todos.items), **{status: counts[status] for status in _MARKS}}
    data = {
        "todos": [asdict(item) for item in todos.items],
        "summary": summary,
        "revision": todos.revision,
    }
    lines = [f"{_MARKS[item.status]} {item.id}: {item.content}" for item in todos.items]
    left = counts["pending"] + counts["in_progress"]
    head = f"Revision {todos.revision}, {len(lines)} items, {left} left" if lines else "No items"
    return ToolResult.ok(data, text="\n".join((head, *lines)), raw_result=RawResult("json", data))
