"""Result schemas of the planning tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, listed, maybe, record

_TODO = record({"parent": maybe(TEXT)}, id=TEXT, content=TEXT, status=TEXT)
_SUMMARY = record(
    total=INTEGER, pending=INTEGER, in_progress=INTEGER, completed=INTEGER, cancelled=INTEGER
)
TODO_RESULT = record(todos=listed(_TODO), summary=_SUMMARY, revision=INTEGER)
_TASK = record(
    id=TEXT,
    title=TEXT,
    notes=TEXT,
    status=TEXT,
    due=maybe(TEXT),
    version=INTEGER,
    created_by=maybe(TEXT),
    created_at=TEXT,
    updated_at=TEXT,
)
TASK_RESULT = record({"task": _TASK, "tasks": listed(_TASK), "total": INTEGER})
_APPOINTMENT = record(
    id=TEXT,
    title=TEXT,
    notes=TEXT,
    start=TEXT,
    end=TEXT,
    all_day=FLAG,
    timezone=TEXT,
    created_by=maybe(TEXT),
)
SCHEDULE_RESULT = record(
    {
        "appointment": _APPOINTMENT,
        "overlaps": listed(_APPOINTMENT),
        "appointments": listed(_APPOINTMENT),
        "total": INTEGER,
        "removed": _APPOINTMENT,
    }
)
_POST = record(
    number=INTEGER,
    board=TEXT,
    reply_to=maybe(INTEGER),
    title=TEXT,
    body=TEXT,
    author=maybe(TEXT),
    created_at=TEXT,
    replies=INTEGER,
)
FORUM_RESULT = record({"post": _POST, "posts": listed(_POST)})
