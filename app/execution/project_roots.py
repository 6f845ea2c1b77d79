"""Validation of a project's root folder."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import InvalidInput, NotFound, ToolFailed
from app.operations.paths import join_path, split_path

MAX_ROOTS = 16
"""Maximum number of folders that a workspace can be narrowed to."""

_FIELD = "workspace_roots"

# Folders without projects.
_TREES = tuple(
    Path(name)
    for name in (
        *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin"),
        *("/sys", "/System", "/Library"),
    )
)
# Folders that may contain projects, but are none themselves.
_PARENTS = tuple(
    Path(name)
    for name in (
        *("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/usr/local"),  # noqa: S108 - compared, not used
        *("/var", "/var/lib", "/Users", "/Applications"),
    )
)


def check_root(root: str, *, data_dir: Path, workspace: Path, force: bool) -> Path:
    """Return the folder with links resolved. Accesses the disk.

    Raises:
        InvalidInput: it is not an absolute path of a folder, or tools must not access it.
    """
    if "\0" in root or not Path(root).is_absolute():
        raise InvalidInput(f"root {root!r} must be an absolute path", field="root")
    try:
        path = Path(root).resolve(strict=True)
    except (OSError, RuntimeError):
        raise InvalidInput(f"root {root!r} does not exist", field="root") from None
    if not path.is_dir():
        raise InvalidInput(f"root {root!r} is not a folder", field="root")
    data = data_dir.resolve()
    if path.is_relative_to(data) and not path.is_relative_to(workspace.resolve()):
        raise InvalidInput(
            f"root {root!r} is inside the service's own data folder, which tools must not access",
            field="root",
        )
    doubt = _doubt(path, data)
    if doubt and not force:
        raise InvalidInput(
            f"root {root!r} {doubt}. Send `force: true` to give tools access to all of it",
            field="root",
        )
    return path


def check_roots(root: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Return folders of a workspace as plain relative paths, none inside another. Accesses the
    disk.

    Raises:
        InvalidInput: a path is absolute, leads upwards or through a link, is the workspace itself
            or not a folder; or there are too many. Names the field `workspace_roots`.
        NotFound: a path does not exist.
    """
    if len(roots) > MAX_ROOTS:
        raise _unfit(f"lists {len(roots)} folders; the maximum is {MAX_ROOTS}")
    found = {_plain(root, folder): None for folder in roots}
    outermost = [parts for parts in found if not any(_is_in(parts, other) for other in found)]
    return tuple(join_path(parts) for parts in outermost)


def _plain(root: str, folder: str) -> tuple[str, ...]:
    if folder.startswith("/"):
        raise _unfit(f"{folder!r} must be relative to the workspace")
    try:
        parts = split_path(folder, ())
    except ToolFailed as error:
        raise _unfit(error.message) from None
    if not parts or ".." in parts:
        raise _unfit(
            f"{folder!r} must be a folder below the workspace's root; omit {_FIELD} to "
            "use all of it"
        )
    for count in range(1, len(parts) + 1):
        _require_folder(Path(root, *parts[:count]), folder)
    return parts


def _require_folder(path: Path, folder: str) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise NotFound(f"{_FIELD}: folder {folder!r} does not exist", field=_FIELD) from None
    except OSError as error:
        raise _unfit(f"cannot open {folder!r}: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise _unfit(f"{folder!r} leads through a link; name the real folder")
    if not stat.S_ISDIR(mode):
        raise _unfit(f"{folder!r} is not a folder")


def _is_in(parts: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(other) < len(parts) and parts[: len(other)] == other


def _unfit(sentence: str) -> InvalidInput:
    return InvalidInput(f"{_FIELD}: {sentence}", field=_FIELD)


def _doubt(path: Path, data_dir: Path) -> str | None:
    """Return why the folder is an unlikely root."""
    if path in _PARENTS or path.parent == path:
        return "is a system folder, not a project folder"
    if any(path.is_relative_to(tree) for tree in _TREES):
        return "belongs to the operating system"
    if path == _home():
        return "is the whole home folder"
    if data_dir.is_relative_to(path):
        return "contains the service's own data, with its tokens and audit log"
    return None


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None
