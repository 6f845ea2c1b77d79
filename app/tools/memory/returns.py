"""Result schemas of the memory tools."""

from __future__ import annotations

from app.toolkit.returns import INTEGER, TEXT, listed, maybe, record

_LINE = record(
    {
        "scope": TEXT,
        "key": maybe(TEXT),
        "version": maybe(INTEGER),
        "content": TEXT,
        "tags": listed(TEXT),
        "source": maybe(TEXT),
        "updated_at": TEXT,
    },
    line=INTEGER,
    text=TEXT,
)
MEMORY_SAVE_RESULT = record(
    {
        "ending": maybe(TEXT),
        "scope": TEXT,
        "key": maybe(TEXT),
        "version": maybe(INTEGER),
        "used": INTEGER,
        "limit": INTEGER,
    },
    line=INTEGER,
    total=INTEGER,
)
MEMORY_RECALL_RESULT = record({"words_left_out": INTEGER}, lines=listed(_LINE), total=INTEGER)
MEMORY_READ_RESULT = record(lines=listed(_LINE), total=INTEGER)
MEMORY_FORGET_RESULT = record({"key": maybe(TEXT), "version": maybe(INTEGER)}, scope=TEXT)
