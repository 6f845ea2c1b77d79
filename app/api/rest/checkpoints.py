"""File changes made by a session's runs, and undoing them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Chatter, ServiceDep
from app.api.errors import problems
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.session_deps import ReadableSession
from app.core.errors import Busy, Conflict, NotFound
from app.core.redaction import Redactor
from app.execution.checkpoints.store import Record
from app.execution.checkpoints.undo import FileChange, RunChanges

router = routes_of("checkpoints")

_FILE = {
    "path": "src/main.py",
    "change": "modified",
    "size_before": 120,
    "unkept": "",
    "operation_id": "op_1",
}
_RUN = {
    "run_id": "run_1",
    "restores": None,
    "created_at": MOMENT,
    "changed_at": MOMENT,
    "files": [_FILE],
}
_DIFF = "--- a/src/main.py\n+++ b/src/main.py\n@@ -1,1 +1,1 @@\n-old\n+new"
Path = Annotated[str, Field(min_length=1, max_length=4096)]


class ChangedFile(BaseModel):
    """A file that a run changed."""

    model_config = example(**_FILE)

    path: str
    change: Literal["created", "modified", "deleted"]
    size_before: int | None = Field(description="Size in bytes; null if it did not exist.")
    unkept: str = Field(
        description="Reason why its previous content was not saved and cannot be restored: "
        "`too_large`, `link`, `unreadable`, `special`. Empty if it was saved."
    )
    operation_id: str = Field(description="Call that first changed it.")


class CheckpointView(BaseModel):
    """File changes of one run."""

    model_config = example(**_RUN)

    run_id: str
    restores: str | None = Field(description="For a restore, the run that it undid.")
    created_at: str
    changed_at: str
    files: list[ChangedFile]

    @classmethod
    def of(cls, run: RunChanges) -> CheckpointView:
        return cls(
            run_id=run.run_id,
            restores=run.restores or None,
            created_at=run.created_at,
            changed_at=run.changed_at,
            files=[_file(record) for record in run.files],
        )


class CheckpointList(BaseModel):
    """Runs that changed files."""

    model_config = example(checkpoints=[_RUN])

    checkpoints: list[CheckpointView]


class FileDifference(ChangedFile):
    """A file that a run changed, compared with its current state."""

    model_config = example(**_FILE, state="restorable", diff=_DIFF, added=1, removed=1)

    state: Literal["restorable", "as_before", "changed_since", "unkept"] = Field(
        description="`restorable`: as the run left it. `as_before`: nothing to restore. "
        "`changed_since`: changed after the run; only `force` restores it."
    )
    diff: str | None = Field(
        description="Difference between before the run and now; null if not UTF-8 text."
    )
    added: int
    removed: int


class CheckpointDetail(BaseModel):
    """Differences between before the run and now."""

    model_config = example(
        run_id="run_1",
        files=[{**_FILE, "state": "restorable", "diff": _DIFF, "added": 1, "removed": 1}],
        next_after=None,
    )

    run_id: str
    files: list[FileDifference]
    next_after: str | None = Field(
        description="Cursor: `after` of the next page; null on the last."
    )


class RestoreOrder(Body):
    """Options of a restore."""

    model_config = example(force=False)

    force: bool = Field(default=False, description="Also restore files that changed after the run.")
    paths: list[Path] | None = Field(
        default=None, min_length=1, max_length=1000, description="Only these files of the run."
    )


class RestoredView(BaseModel):
    """Result of a restore."""

    model_config = example(run_id="undo_1", restored=["src/main.py"], unchanged=[], left={})

    run_id: str = Field(description="Run to restore to undo this restore.")
    restored: list[str]
    unchanged: list[str] = Field(description="Files that already matched their previous content.")
    left: dict[str, str] = Field(description="Files whose content was not saved, with the reason.")


def _file(record: Record) -> ChangedFile:
    change: Literal["created", "modified", "deleted"] = "modified"
    if record.after_sha256 is None:
        change = "deleted"
    elif not record.existed:
        change = "created"
    return ChangedFile(
        path=record.path,
        change=change,
        size_before=record.before_size,
        unkept=record.unkept,
        operation_id=record.operation_id,
    )


def _difference(change: FileChange, redactor: Redactor) -> FileDifference:
    diff = change.diff
    return FileDifference(
        **_file(change.record).model_dump(),
        state=change.state,
        diff=None if diff is None else redactor.text(diff.text),
        added=0 if diff is None else diff.added,
        removed=0 if diff is None else diff.removed,
    )


@router.get(
    "/sessions/{session_id}/checkpoints",
    summary="List the runs of a session that changed files",
    responses=problems(NotFound),
)
async def list_checkpoints(
    session: ReadableSession,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> CheckpointList:
    """Scope `chat`. Latest run first. Changes by shell commands are not listed."""
    runs = await service.undo.runs(session.id, limit=limit)
    return CheckpointList(checkpoints=[CheckpointView.of(run) for run in runs])


@router.get(
    "/sessions/{session_id}/checkpoints/{run_id}",
    summary="Get the file differences of a run",
    responses=problems(NotFound),
)
async def get_checkpoint(
    run_id: PathId,
    session: ReadableSession,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str, Query(max_length=4096, description="`next_after` of the previous page.")
    ] = "",
) -> CheckpointDetail:
    """Scope `chat`. Compares each file before the run with its current state."""
    changes = await service.undo.changes(session.id, run_id, after=after, limit=limit)
    redactor = service.redactor
    return CheckpointDetail(
        run_id=run_id,
        files=[_difference(item, redactor) for item in changes],
        next_after=changes[-1].record.path if len(changes) == limit else None,
    )


@router.post(
    "/sessions/{session_id}/checkpoints/{run_id}/restore",
    summary="Undo the file changes of a run",
    responses=problems(NotFound, Conflict, Busy, body=True),
)
async def restore_checkpoint(
    run_id: PathId,
    body: RestoreOrder,
    session: ReadableSession,
    service: ServiceDep,
    principal: Chatter,
) -> RestoredView:
    """Scope `chat`. Restores all files or none. 409: changed since, or a run is active."""
    restored = await service.undo.restore(
        session.id,
        run_id,
        actor=principal.user_id,
        is_active=lambda: service.runs.active(session.id) is not None,
        force=body.force,
        paths=body.paths,
    )
    return RestoredView(
        run_id=restored.run_id,
        restored=list(restored.restored),
        unchanged=list(restored.unchanged),
        left=restored.left,
    )
