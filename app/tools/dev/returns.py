"""Result schemas of the developer tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, keyed, listed, maybe, record
from app.tools.result_parts import CONFINED

_FINDING = record(
    path=TEXT,
    line=maybe(INTEGER),
    column=maybe(INTEGER),
    code=maybe(TEXT),
    severity=TEXT,
    message=TEXT,
    linter=TEXT,
    fixable=FLAG,
)
_NOT_CHECKED = record(linter=TEXT, files=INTEGER, reason=TEXT, fix=TEXT)
LINT_RESULT = record(
    findings=listed(_FINDING),
    count=INTEGER,
    total=INTEGER,
    errors=INTEGER,
    checked=keyed(INTEGER),
    not_checked=listed(_NOT_CHECKED),
    unknown=listed(TEXT),
    truncated=FLAG,
    sandbox=maybe(CONFINED),
)
LINT_FIX_RESULT = record(
    files=listed(record(path=TEXT, added=INTEGER, removed=INTEGER)),
    changed=INTEGER,
    repaired=INTEGER,
    left=INTEGER,
    truncated=FLAG,
    sandbox=maybe(CONFINED),
)
_PLACE = {"path": TEXT, "line": INTEGER, "column": INTEGER, "text": TEXT}
_FOUND = record(
    {
        **_PLACE,
        "contents": TEXT,
        "name": TEXT,
        "kind": TEXT,
        "container": TEXT,
        "code": maybe(TEXT),
        "severity": TEXT,
        "message": TEXT,
        "source": TEXT,
        "calls": listed(record(_PLACE)),
        "title": TEXT,
        "preferred": FLAG,
    }
)
LSP_RESULT = record(
    operation=TEXT,
    results=listed(_FOUND),
    count=INTEGER,
    total=INTEGER,
    truncated=FLAG,
    server=maybe(TEXT),
)
_CHANGED = record(
    {"staged": maybe(TEXT), "unstaged": maybe(TEXT), "old_path": TEXT, "state": TEXT}, path=TEXT
)
_COMMIT = {
    "commit": maybe(TEXT),
    "parents": listed(TEXT),
    "author": TEXT,
    "email": TEXT,
    "date": TEXT,
    "refs": listed(TEXT),
    "subject": TEXT,
    "body": TEXT,
}
GIT_RESULT = record(
    {
        **_COMMIT,
        "branch": maybe(TEXT),
        "upstream": maybe(TEXT),
        "ahead": maybe(INTEGER),
        "behind": maybe(INTEGER),
        "files": listed(_CHANGED),
        "clean": FLAG,
        "diff": TEXT,
        "added": INTEGER,
        "removed": INTEGER,
        "commits": listed(record(_COMMIT)),
        "count": INTEGER,
        "content": TEXT,
        "lines": listed(record()),
    },
    action=TEXT,
    repo=TEXT,
    truncated=FLAG,
    sandbox=maybe(CONFINED),
)
