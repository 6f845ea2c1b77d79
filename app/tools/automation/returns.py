"""Result schemas of the automation tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, listed, maybe, record

_SCHEDULE = record(
    id=TEXT,
    name=TEXT,
    prompt=TEXT,
    when=TEXT,
    recurring=FLAG,
    timezone=TEXT,
    next=listed(TEXT),
    missed=TEXT,
    session=TEXT,
    agent_id=maybe(TEXT),
    project_id=maybe(TEXT),
    expires_at=maybe(TEXT),
    paused=FLAG,
    created_at=TEXT,
)
SCHEDULE_CRON_RESULT = record(
    {
        "schedule": _SCHEDULE,
        "schedules": listed(_SCHEDULE),
        "total": INTEGER,
        "history": listed(record()),
    }
)
REMOTE_TRIGGER_RESULT = record(url=TEXT, method=TEXT, status_code=INTEGER, body=TEXT, success=FLAG)
