"""Result schemas of the file tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, listed, maybe, record
from app.tools.result_parts import CONFINED

_READ = {
    "content": TEXT,
    "encoding": TEXT,
    "size": INTEGER,
    "total_lines": INTEGER,
    "start_line": INTEGER,
    "end_line": INTEGER,
    "truncated": FLAG,
    "name": TEXT,
    "media_type": TEXT,
    "artifact_id": TEXT,
    "width": INTEGER,
    "height": INTEGER,
    "total_pages": INTEGER,
    "first_page": INTEGER,
    "last_page": INTEGER,
    "sandbox": CONFINED,
}
_ONE_OF_MANY = record({**_READ, "error": TEXT, "code": TEXT}, path=TEXT)
READ_FILE_RESULT = record(
    {**_READ, "path": TEXT, "files": listed(_ONE_OF_MANY), "read": INTEGER, "failed": INTEGER}
)
WRITE_FILE_RESULT = record(
    {"added": INTEGER, "removed": INTEGER},
    path=TEXT,
    size=INTEGER,
    bytes=INTEGER,
    mode=TEXT,
    created=FLAG,
)
EDIT_FILE_RESULT = record(
    path=TEXT, replacements=INTEGER, added=INTEGER, removed=INTEGER, diff=TEXT
)
_HUNK = record(hunk=INTEGER, line=INTEGER, offset=INTEGER, overlooked=listed(TEXT))
_PATCHED = record(
    {"from": TEXT}, path=TEXT, action=TEXT, added=INTEGER, removed=INTEGER, hunks=listed(_HUNK)
)
PATCH_RESULT = record(
    dry_run=FLAG, files=listed(_PATCHED), added=INTEGER, removed=INTEGER, diff=TEXT
)
_ENTRY = record({"size": maybe(INTEGER), "modified": maybe(TEXT)}, name=TEXT, path=TEXT, type=TEXT)
LIST_DIR_RESULT = record(
    path=TEXT, entries=listed(_ENTRY), total_files=INTEGER, total_dirs=INTEGER, truncated=FLAG
)
FILE_EXISTS_RESULT = record({"size": INTEGER}, exists=FLAG, type=maybe(TEXT), path=TEXT)
FILE_MKDIR_RESULT = record(success=FLAG, path=TEXT, created=FLAG)
FILE_DELETE_RESULT = record(success=FLAG, path=TEXT)
