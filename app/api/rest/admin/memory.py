"""Administration of memories: list, update, delete, export and import."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Query
from pydantic import BaseModel, Field, model_validator
from starlette.responses import StreamingResponse

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.json_lines import documented_lines, json_lines
from app.api.rest.routing import routes_of
from app.core.errors import AlreadyExists, Conflict
from app.core.field_problems import FieldError
from app.domain.memory import Memory, MemoryInput, MemoryScope
from app.governance.audit.filters import moment_of
from app.knowledge.memory.administration import Imported, MemoryAdministration
from app.knowledge.memory.selection import MemoryCriteria
from app.tools.memory.lines import KeyText, ScopeName, Tag
from app.tools.memory.memory_save import MAX_CONTENT_CHARS

router = routes_of("admin", below="/admin")
memories = Crud(router, "memory", "memory_id")

MAX_IMPORTED = 1000
_MEMORY: dict[str, Any] = {
    "id": "mem_1",
    "scope": "user",
    "owner": "ann",
    "key": "favourite-editor",
    "version": 3,
    "content": "Ann prefers Vim",
    "tags": ["tools"],
    "source": "support",
    "user_id": "ann",
    "agent_id": "support",
    "session_id": "ses_1",
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_LINES = documented_lines(
    "One memory per line, oldest first.",
    '{"id":"mem_1","scope":"user","owner":"ann","content":"Ann prefers Vim"}\n',
)
Content = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS, pattern=r"\S")]
Tags = Annotated[list[Tag], Field(max_length=20)]
Owner = Annotated[
    str, Field(min_length=1, max_length=256, description="ID of the agent, user or project.")
]
Asked = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        description="Words that must all occur, as in agents' searches.",
    ),
]
Moment = Annotated[
    str,
    Field(max_length=64, description="Changed before this time (ISO 8601).", examples=[MOMENT]),
]


class AdminMemory(BaseModel):
    """A memory. `user_id`, `agent_id` and `session_id` identify its last author."""

    model_config = example(**_MEMORY)

    id: str
    scope: ScopeName
    owner: str
    key: str
    version: int
    content: str
    tags: list[str]
    source: str
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    created_at: str
    updated_at: str


class AdminMemoryPage(BaseModel):
    """Memories, newest first."""

    model_config = example(memories=[_MEMORY], total=1, next_before=None)

    memories: list[AdminMemory]
    total: int = Field(description="Number of all matches.")
    next_before: int | None = Field(default=None, description="Cursor: `before` of the next page.")


class MemoryChange(Body):
    """Fields to change; omitted fields stay."""

    model_config = example(content="Ann prefers Emacs")

    content: Content | None = None
    tags: Tags | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.content is None and self.tags is None:
            raise FieldError("set content, tags or both", code="some_of", needed="content, tags")
        return self


class MemoryFilters(Body):
    """Filters for memories; omitted filters match all."""

    scope: ScopeName | None = None
    owner: Owner | None = None
    tag: Tag | None = None
    query: Asked | None = None
    until: Moment | None = None

    def filters(self) -> MemoryCriteria:
        """Return the filters in the form of the store.

        Raises:
            InvalidInput: `until` is not a valid time.
        """
        until = moment_of(self.until, "until") if self.until else None
        return MemoryCriteria(self.scope, self.owner, self.tag, self.query, until)


class MemoriesToForget(MemoryFilters):
    """Memories to delete: first in a dry run, then with the count that it returned."""

    model_config = example(scope="user", owner="ann", dry_run=True)

    every: bool = Field(default=False, description="Required if no filter is set.")
    dry_run: bool = Field(default=True, description="Only count the matches.")
    expected: int | None = Field(
        default=None, ge=0, description="Expected number of matches; refused if it has changed."
    )

    @model_validator(mode="after")
    def _is_meant(self) -> Self:
        narrows = (self.scope, self.owner, self.tag, self.query, self.until)
        if not self.every and all(part is None for part in narrows):
            raise FieldError(
                "set scope, owner, tag, query or until; or every=true for all",
                code="some_of",
                needed="scope, owner, tag, query, until, every",
            )
        return self


class ForgottenMemories(BaseModel):
    """Numbers of matching and of deleted memories."""

    model_config = example(matched=12, forgotten=0)

    matched: int
    forgotten: int


class MemoryToImport(Body):
    """A memory in the format of an export; an import ignores fields that it does not store."""

    model_config = example(scope="user", owner="ann", key="favourite-editor", content="Vim")

    scope: ScopeName
    owner: Owner
    content: Content
    key: KeyText | None = None
    tags: Tags = Field(default_factory=list)
    source: str = Field(default="import", min_length=1, max_length=64, pattern=r"^[^|\s][^|\r\n]*$")
    updated_at: Moment | None = None
    id: str | None = None
    version: int | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    created_at: str | None = None

    def entry(self) -> Imported:
        """Return the memory in the form of the store.

        Raises:
            InvalidInput: `updated_at` is not a valid time.
        """
        return Imported(
            MemoryScope(self.scope, self.owner),
            MemoryInput(self.content, tuple(self.tags), self.key),
            self.source,
            moment_of(self.updated_at, "updated_at") if self.updated_at else None,
        )


class MemoryImport(Body):
    """Memories to import, all of them or none."""

    model_config = example(
        memories=[{"scope": "user", "owner": "ann", "key": "editor", "content": "Vim"}]
    )

    memories: list[MemoryToImport] = Field(min_length=1, max_length=MAX_IMPORTED)
    on_conflict: Literal["fail", "skip", "replace"] = Field(
        default="fail", description="If a key is already used by another memory."
    )


class MemoryImported(BaseModel):
    """Result of an import."""

    model_config = example(created=1, changed=0, unchanged=0, skipped=0)

    created: int
    changed: int
    unchanged: int
    skipped: int


def filters_of(
    scope: ScopeName | None = None,
    owner: Annotated[str | None, Query(min_length=1, max_length=256)] = None,
    tag: Annotated[str | None, Query(min_length=1, max_length=64)] = None,
    query: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    until: Annotated[str | None, Query(max_length=64, examples=[MOMENT])] = None,
) -> MemoryCriteria:
    """Return the filters of a request.

    Raises:
        InvalidInput: `until` is not a valid time.
    """
    return MemoryCriteria(scope, owner, tag, query, moment_of(until, "until") if until else None)


Wanted = Annotated[MemoryCriteria, Depends(filters_of)]


@router.get("/memory", summary="List memories", responses=problems())
async def list_memories(
    service: ServiceDep,
    principal: Admin,
    wanted: Wanted,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="Continue from this position.")
    ] = None,
) -> AdminMemoryPage:
    """Scope `admin`. Memories of all users, newest first."""
    memory = service.memory
    found, total = await memory.page(wanted, limit=limit, before=before)
    return AdminMemoryPage(
        memories=[_view(memory, item) for item in found],
        total=total,
        next_before=found[-1].number if len(found) == limit else None,
    )


@router.get(
    "/memory/export",
    summary="Export memories as JSON lines",
    response_class=StreamingResponse,
    responses={**problems(), 200: _LINES},
)
async def export_memories(
    service: ServiceDep, principal: Admin, wanted: Wanted
) -> StreamingResponse:
    """Scope `admin`. All matching memories up to the current newest one; the audit log notes it."""
    return await json_lines(service.memory.export(wanted, actor=principal.user_id))


@router.post(
    "/memory/import", summary="Import memories", responses=problems(AlreadyExists, body=True)
)
async def import_memories(
    body: MemoryImport, service: ServiceDep, principal: Admin
) -> MemoryImported:
    """Scope `admin`. Imported memories get new IDs; texts that look like secrets are refused."""
    done = await service.memory.take_in(
        [item.entry() for item in body.memories],
        on_conflict=body.on_conflict,
        actor=principal.user_id,
    )
    return MemoryImported(
        created=done.created,
        changed=done.changed,
        unchanged=done.unchanged,
        skipped=done.skipped,
    )


@router.post(
    "/memory/forget", summary="Delete matching memories", responses=problems(Conflict, body=True)
)
async def forget_memories(
    body: MemoriesToForget, service: ServiceDep, principal: Admin
) -> ForgottenMemories:
    """Scope `admin`. A dry run unless `dry_run` is false. Deletion is permanent."""
    memory, filters = service.memory, body.filters()
    if body.dry_run:
        return ForgottenMemories(matched=await memory.count(filters), forgotten=0)
    gone = await memory.forget_many(filters, actor=principal.user_id, expected=body.expected)
    return ForgottenMemories(matched=gone, forgotten=gone)


@memories.read("Get a memory")
async def get_memory(memory_id: PathId, service: ServiceDep, principal: Admin) -> AdminMemory:
    """Scope `admin`."""
    memory = service.memory
    return _view(memory, await memory.get(memory_id))


@memories.change("Update a memory")
async def change_memory(
    memory_id: PathId,
    body: MemoryChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminMemory:
    """Scope `admin`. Agents then read it as written by another user."""
    memory = service.memory
    changed = await memory.change(
        memory_id,
        content=body.content,
        tags=body.tags,
        actor=principal.user_id,
        expected=expected,
    )
    return _view(memory, changed)


@memories.remove("Delete a memory")
async def forget_memory(
    memory_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AdminMemory:
    """Scope `admin`. Returns the deleted memory. Deletion is permanent."""
    memory = service.memory
    gone = await memory.forget(memory_id, actor=principal.user_id, expected=expected)
    return _view(memory, gone)


def _view(memory: MemoryAdministration, item: Memory) -> AdminMemory:
    return AdminMemory(**memory.shown(item))
