"""`task`: tasks of a user that outlive one chat."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.domain.datetimes import MomentText, ZoneName, kept
from app.domain.owners import actor_of, owner_of
from app.domain.plans import TASKS, Task, Tasks, TaskStatus
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.planning.returns import TASK_RESULT
from app.tools.untrusted import untrusted

_SOURCE = "tasks"


class TaskArgs(ToolArgs):
    action: Literal["create", "list", "get", "update", "delete"] = Field(
        default="list", description="What to do."
    )
    id: str | None = Field(default=None, min_length=1, max_length=64, description="ID of the task.")
    title: str | None = Field(
        default=None, min_length=1, max_length=300, pattern=r"\S", description="Title in one line."
    )
    notes: str | None = Field(default=None, max_length=20_000, description="Further details.")
    status: Literal["open", "in_progress", "done", "cancelled"] | None = Field(
        default=None, description="list: filter; update: new status."
    )
    due: MomentText | Literal[""] | None = Field(
        default=None,
        description="ISO date or time; update with '' removes it; list: due before this.",
    )
    tz: ZoneName = Field(default="UTC", description="Time zone of a `due` without offset.")
    query: str | None = Field(default=None, max_length=200, description="list: text to search for.")
    limit: int = Field(default=50, ge=1, le=500, description="list: maximum entries.")
    version: int | None = Field(
        default=None, ge=1, description="update only if the task is still at this version."
    )

    @model_validator(mode="after")
    def _complete(self) -> TaskArgs:
        if self.action == "create" and self.title is None:
            raise FieldError("create requires title", code="needs", given="create", needed="title")
        if self.action in ("get", "update", "delete") and self.id is None:
            raise FieldError(
                f"{self.action} requires id", code="needs", given=self.action, needed="id"
            )
        if self.action == "update" and not self.changes:
            raise FieldError(
                "update requires title, notes, status or due",
                code="some_of",
                needed="title, notes, status, due",
            )
        if self.due:
            kept(self.due, self.tz)
        return self

    @property
    def changes(self) -> dict[str, str | None]:
        """Changes of an update."""
        given: dict[str, str | None] = {
            name: value
            for name in ("title", "notes", "status")
            if (value := getattr(self, name)) is not None
        }
        if self.due is not None:
            given["due"] = kept(self.due, self.tz) if self.due else None
        return given


@tool(
    category="planning",
    toolset="planning",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.DB_WRITE,
    kind="other",
    requires=(TASKS,),
    routing_hint="main-process-proxy",
    tags=("plan",),
    argument_aliases={"task_id": "id", "due_date": "due", "description": "notes"},
    return_schema=TASK_RESULT,
)
async def task(args: TaskArgs, ctx: ToolContext) -> ToolResult:
    """Manage the user's tasks across chats: create, list, get, update, delete.

    `list` sorts by due date. For the steps of the current work use `todo`. Returns the task, or the
    tasks and their total.
    """
    tasks = ctx.services.require(TASKS, Tasks)  # type: ignore[type-abstract]
    owner = owner_of(ctx)
    if args.action == "list":
        return await _listed(args, tasks, owner)
    if args.action == "create":
        assert args.title is not None
        due = kept(args.due, args.tz) if args.due else None
        made = await tasks.create(
            owner, title=args.title, notes=args.notes or "", due=due, by=actor_of(ctx)
        )
        if args.status not in (None, "open"):
            made = await tasks.update(owner, made.id, {"status": args.status}, expected=None)
        return _shown("Created", made)
    assert args.id is not None
    if args.action == "get":
        return _shown("Task", await tasks.get(owner, args.id))
    if args.action == "delete":
        return _shown("Deleted", await tasks.delete(owner, args.id))
    changed = await tasks.update(owner, args.id, args.changes, expected=args.version)
    return _shown("Updated", changed)


async def _listed(args: TaskArgs, tasks: Tasks, owner: str) -> ToolResult:
    if args.due == "":
        raise ToolFailed("`due` must be a date or time when listing", code="invalid_due")
    statuses: tuple[TaskStatus, ...] = (args.status,) if args.status is not None else ()
    found, total = await tasks.find(
        owner,
        statuses=statuses,
        due_before=kept(args.due, args.tz) if args.due else None,
        query=args.query,
        limit=args.limit,
    )
    data: dict[str, Any] = {"tasks": [asdict(item) for item in found], "total": total}
    text = untrusted("\n".join(map(_line, found)), _SOURCE) if found else "No tasks"
    if total > len(found):
        text += f"\n({total - len(found)} more)"
    return ToolResult.ok(data, text=text, raw_result=RawResult("json", data))


def _shown(what: str, task: Task) -> ToolResult:
    """Return a task marked as untrusted data: another chat may have stored text from a web page."""
    text = _line(task) + (f"\n{task.notes}" if task.notes else "")
    return ToolResult.ok({"task": asdict(task)}, text=f"{what}:\n{untrusted(text, _SOURCE)}")


def _line(task: Task) -> str:
    due = f", due {task.due}" if task.due else ""
    return f"{task.id} [{task.status}{due}] {task.title}"
