"""Result schemas of the delegation tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, NUMBER, TEXT, keyed, listed, maybe, record

_CALL = record({"tool_call_id": TEXT, "operation_id": TEXT}, tool=TEXT, status=TEXT, route=TEXT)
_BLOCKED = record(code=TEXT, message=TEXT, layer=TEXT, fix=TEXT)
_TASK = {
    "task_id": TEXT,
    "batch_id": TEXT,
    "run_id": maybe(TEXT),
    "label": TEXT,
    "goal": TEXT,
    "status": TEXT,
    "response": maybe(TEXT),
    "partial": FLAG,
    "error": maybe(record(code=TEXT, message=TEXT)),
    "rounds": INTEGER,
    "model": maybe(TEXT),
    "usage": keyed(NUMBER),
    "calls": listed(_CALL),
    "routes": keyed(TEXT),
    "blocked": keyed(_BLOCKED),
    "worker_pid": maybe(INTEGER),
    "started_at": maybe(TEXT),
    "finished_at": maybe(TEXT),
}
_BATCH = {
    "batch_id": TEXT,
    "session_id": TEXT,
    "kind": TEXT,
    "name": maybe(TEXT),
    "status": TEXT,
    "background": FLAG,
    "created_at": TEXT,
    "parent_run_id": maybe(TEXT),
    "duplicate": FLAG,
    "tasks": listed(record(**_TASK)),
}
DELEGATE_TASK_RESULT = record({**_TASK, **_BATCH}, batch_id=TEXT, status=TEXT)
DELEGATE_PARALLEL_RESULT = TEAM_AGENT_RESULT = DELEGATE_CANCEL_RESULT = record(**_BATCH)
DELEGATE_STATUS_RESULT = record({**_BATCH, "delegations": listed(record(**_BATCH))})
TASK_BROADCAST_RESULT = record(task_ids=listed(TEXT), total=INTEGER)
