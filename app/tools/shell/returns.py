"""Result schemas of the shell tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, NUMBER, TEXT, listed, maybe, record
from app.tools.result_parts import CONFINED

COMMAND_RESULT = record(
    {"process_id": TEXT, "running": FLAG},
    stdout=TEXT,
    stderr=TEXT,
    exit_code=maybe(INTEGER),
    timed_out=FLAG,
    truncated=FLAG,
    reason=maybe(TEXT),
    sandbox=maybe(CONFINED),
)
_PROCESS = {
    "process_id": TEXT,
    "command": TEXT,
    "cwd": TEXT,
    "terminal": FLAG,
    "running": FLAG,
    "exit_code": maybe(INTEGER),
    "reason": maybe(TEXT),
    "seconds": NUMBER,
    "output_bytes": INTEGER,
    "unread_bytes": INTEGER,
    "sandbox": maybe(CONFINED),
}
PROCESS_RESULT = record(
    {
        **_PROCESS,
        "output": TEXT,
        "matched": maybe(TEXT),
        "processes": listed(record(**_PROCESS)),
        "total": INTEGER,
        "offset": INTEGER,
        "next_offset": maybe(INTEGER),
    }
)
