"""Result schemas of the search tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, listed, maybe, record

_ENTRY = record(path=TEXT, type=TEXT, size=maybe(INTEGER), modified=maybe(TEXT))
FIND_FILES_RESULT = record(
    files=listed(TEXT), entries=listed(_ENTRY), count=INTEGER, total=INTEGER, truncated=FLAG
)
_LINE = record(path=TEXT, line=INTEGER, text=TEXT)
GREP_RESULT = record(
    {
        "matches": listed(record(path=TEXT, line=INTEGER, text=TEXT, match=FLAG)),
        "files": listed(record({"count": INTEGER}, path=TEXT)),
    },
    total=INTEGER,
    files_searched=INTEGER,
    files_skipped=INTEGER,
    truncated=FLAG,
)
FILE_SEARCH_RESULT = record(
    {"matches": listed(_LINE)}, searched=TEXT, files=listed(TEXT), total=INTEGER, truncated=FLAG
)
