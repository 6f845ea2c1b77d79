"""Selection of files to check, and of their linters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery

Linter = Literal["ruff", "shellcheck", "eslint", "json", "yaml", "toml", "xml"]

MAX_FILES = 2_000
_GLOB = frozenset("*?[{")
_SUFFIXES: dict[Linter, tuple[str, ...]] = {
    "ruff": ("py", "pyi"),
    "shellcheck": ("sh", "bash"),
    "eslint": ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"),
    "json": ("json",),
    "yaml": ("yml", "yaml"),
    "toml": ("toml",),
    "xml": ("xml", "svg", "xsd", "xsl", "xslt"),
}
_LINTERS: dict[str, Linter] = {
    suffix: linter for linter, suffixes in _SUFFIXES.items() for suffix in suffixes
}
_PATTERN = "**/*.{" + ",".join(_LINTERS) + "}"


@dataclass(slots=True)
class Selection:
    """Paths by linter; `unknown` have none; `truncated` if there were too many files."""

    by_linter: dict[Linter, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    truncated: bool = False


async def select(operations: Operations, paths: list[str], only: Linter | None) -> Selection:
    """Select the files of `paths`, which are files, folders and patterns.

    Raises:
        ToolFailed: `file_not_found` for a path that does not exist, `invalid_pattern`;
            OutsideWorkspace.
    """
    found: dict[str, bool] = {}
    selection = Selection()
    for path in paths:
        named, truncated = await _expand(operations, path)
        selection.truncated |= truncated
        found.update(named)
    chosen = list(found)[:MAX_FILES]
    selection.truncated |= len(chosen) < len(found)
    for path in chosen:
        linter = _linter_of(path)
        # A named file is checked by the requested linter, whatever its suffix.
        if found[path] and only is not None:
            linter = only
        if linter is None:
            selection.unknown.append(path)
        elif only in (None, linter):
            selection.by_linter.setdefault(linter, []).append(path)
    return selection


async def _expand(operations: Operations, path: str) -> tuple[dict[str, bool], bool]:
    """Return files, each with whether it was named explicitly, and whether there are more."""
    stat = await operations.files.stat(path)
    if stat is not None and stat.type != "directory":
        return {stat.path: True}, False
    if stat is None and not _GLOB & set(path):
        raise ToolFailed(f"File not found: {path!r}", code="file_not_found", path=path)
    query = FindQuery(pattern=path, limit=MAX_FILES)
    if stat is not None:
        query = FindQuery(path=path, pattern=_PATTERN, limit=MAX_FILES)
    result = await operations.search.find(query)
    return {entry.path: False for entry in result.entries}, result.truncated


def _linter_of(path: str) -> Linter | None:
    name = path.rpartition("/")[2].lower()
    # JSON with comments and trailing commas.
    if name.startswith(("tsconfig", "jsconfig")):
        return None
    return _LINTERS.get(name.rpartition(".")[2])
