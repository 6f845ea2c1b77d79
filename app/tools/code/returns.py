"""Result schemas of the code tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, NUMBER, TEXT, listed, maybe, record
from app.tools.result_parts import CONFINED

_FILE = record({"artifact_id": TEXT, "error": TEXT}, name=TEXT, media_type=TEXT, size=INTEGER)
EXECUTE_PYTHON_RESULT = record(
    success=FLAG,
    output=TEXT,
    stderr=TEXT,
    value=maybe(TEXT),
    strictness=TEXT,
    timeout=NUMBER,
    exit_code=maybe(INTEGER),
    reason=maybe(TEXT),
    truncated=FLAG,
    files=listed(_FILE),
    files_left_out=INTEGER,
    sandbox=maybe(CONFINED),
)
