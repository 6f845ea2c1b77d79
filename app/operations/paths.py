"""Parsing of caller-written paths to components, without file system access."""

from __future__ import annotations

import os
from collections.abc import Sequence

from app.core.errors import OutsideWorkspace, ToolFailed

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4000


def invalid_path(path: str, reason: str) -> ToolFailed:
    """Return the error for an invalid path; the path is truncated for display."""
    shown = path[:80].encode("utf-8", "replace").decode()
    return ToolFailed(f"Invalid path {shown!r}: {reason}", code="invalid_path", path=shown)


def split_path(path: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Return the components of `path` below the workspace root; `()` is the root itself.

    `path` is relative, or absolute inside one of `roots` (spellings of the same root), compared
    component by component, so `/ws_evil` is not inside `/ws`. `~/x` is in a home folder, and
    `./~/x` in a folder named `~`. `..` is preserved: only the file system knows its target.

    Raises:
        ToolFailed: code `invalid_path` for empty, NUL, unencodable or over-long paths.
        OutsideWorkspace: the path is absolute and not below a root, or in a home folder.
    """
    _check_text(path)
    if path == "~" or path.startswith("~/"):
        raise OutsideWorkspace(path)
    parts = _components(path)
    if path.startswith("/"):
        return _below(path, parts, roots)
    return parts


def leaves_lexically(parts: Sequence[str]) -> bool:
    """Return whether `..` rises above the start if no component is a link."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def join_path(parts: Sequence[str]) -> str:
    """Return the relative form in results; `.` for the root."""
    return "/".join(parts) or "."


def _components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _below(path: str, parts: tuple[str, ...], roots: Sequence[str]) -> tuple[str, ...]:
    for root in roots:
        prefix = _components(root)
        if parts[: len(prefix)] == prefix:
            return parts[len(prefix) :]
    raise OutsideWorkspace(path)


def _check_text(path: str) -> None:
    if not path:
        raise invalid_path(path, "it is empty; write '.' for the workspace itself")
    if "\0" in path:
        raise invalid_path(path, "it contains a NUL character")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise invalid_path(
            path, "it contains characters that are not allowed in file names"
        ) from None
    if len(encoded) > MAX_PATH_BYTES:
        raise invalid_path(path, f"it exceeds {MAX_PATH_BYTES} bytes")
    if any(len(part) > MAX_NAME_BYTES for part in encoded.split(b"/")):
        raise invalid_path(path, f"one name in it exceeds {MAX_NAME_BYTES} bytes")
