"""Result schemas of the system tools."""

from __future__ import annotations

from app.toolkit.returns import INTEGER, TEXT, keyed, listed, maybe, record

SEARCH_TOOLS_RESULT = record(tools=listed(record(name=TEXT, summary=TEXT)), total=INTEGER)
_HIT = {
    "source": TEXT,
    "path": TEXT,
    "line": maybe(INTEGER),
    "text": TEXT,
    "name": TEXT,
    "session_id": TEXT,
    "title": maybe(TEXT),
    "entry_id": TEXT,
    "role": TEXT,
    "created_at": TEXT,
}
SEARCH_RESULT = record(results=keyed(listed(record(_HIT))), total=INTEGER, unavailable=keyed(TEXT))
READ_RESULT_RESULT = record(
    {
        "calls": listed(record(tool_call_id=TEXT, tool_name=TEXT, chars=INTEGER)),
        "tool_name": TEXT,
        "content": TEXT,
        "offset": INTEGER,
        "total_chars": INTEGER,
        "next_offset": maybe(INTEGER),
    }
)
