"""What a call would hit, looked up before a person is asked."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Sequence
from typing import Any

from app.core.errors import ToolFailed
from app.core.visible import unpadded
from app.execution.context import Project
from app.operations.protocols.search import FindQuery

MAX_TARGETS = 20
MAX_FILES = 10_000
LOOK_S = 1.0


async def targets_of(paths: Sequence[str], project: Project | None) -> list[dict[str, Any]]:
    """Each path as a `ShownTarget`: how many files a folder in the workspace holds, too.

    Looking takes at most a second; what is not known by then is shown without a count.
    """
    shown: list[dict[str, Any]] = [{"path": unpadded(path)} for path in paths[:MAX_TARGETS]]
    if project is None:
        return shown
    try:
        async with asyncio.timeout(LOOK_S):
            for entry, path in zip(shown, paths, strict=False):
                entry.update(await _looked_at(path, project))
    except TimeoutError:
        pass
    return shown


async def _looked_at(path: str, project: Project) -> dict[str, Any]:
    root = project.root.rstrip("/")
    normal = posixpath.normpath(path)
    if normal != root and not normal.startswith(root + "/"):
        return {}
    operations = project.operations
    try:
        stat = await operations.files.stat(normal)
        if stat is None:
            return {"type": "missing"}
        if stat.type != "directory":
            return {"type": "file" if stat.type == "file" else "unknown", "files": 1}
        query = FindQuery(path=normal, limit=MAX_FILES, respect_ignore=False, include_hidden=True)
        found = await operations.search.find(query)
    except ToolFailed:
        return {}
    return {
        "type": "directory",
        "files": min(found.total, MAX_FILES),
        "more": found.truncated or found.total > MAX_FILES,
    }
