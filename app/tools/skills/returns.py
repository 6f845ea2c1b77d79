"""Result schemas of the skill tools."""

from __future__ import annotations

from app.toolkit.returns import ANYTHING, FLAG, INTEGER, TEXT, listed, maybe, record
from app.tools.result_parts import CONFINED, KEPT

READ_SKILL_RESULT = record(
    name=TEXT,
    id=TEXT,
    description=TEXT,
    digest=TEXT,
    body=TEXT,
    truncated=FLAG,
    files=listed(record(path=TEXT, size=INTEGER)),
    left_out=listed(TEXT),
    runs=FLAG,
    input_schema=maybe(record()),
    is_trusted=FLAG,
)
READ_SKILL_FILE_RESULT = record(
    name=TEXT,
    path=TEXT,
    content=TEXT,
    start=INTEGER,
    end=INTEGER,
    total_lines=INTEGER,
    truncated=FLAG,
    digest=TEXT,
)
_ROW = {
    "id": TEXT,
    "name": TEXT,
    "origin": TEXT,
    "description": TEXT,
    "status": TEXT,
    "reason": maybe(TEXT),
    "digest": maybe(TEXT),
    "version": INTEGER,
}
SKILL_MANAGE_RESULT = record(
    {
        **_ROW,
        "action": TEXT,
        "scope": TEXT,
        "changed": listed(TEXT),
        "skill": record(_ROW),
        "skills": listed(record(_ROW)),
    }
)
EXECUTE_SKILL_RESULT = record(
    skill=TEXT,
    digest=TEXT,
    data=ANYTHING,
    artifacts=listed(KEPT),
    progress_events=INTEGER,
    progress_left_out=INTEGER,
    output=TEXT,
    stderr=TEXT,
    exit_code=maybe(INTEGER),
    reason=maybe(TEXT),
    sandbox=CONFINED,
)
