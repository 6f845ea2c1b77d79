"""Which folder may be a project's root."""

from __future__ import annotations

from pathlib import Path

from app.core.errors import InvalidInput

# Nothing in these is anybody's project.
_TREES = tuple(
    Path(name)
    for name in (
        *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin"),
        *("/sys", "/System", "/Library"),
    )
)
# Projects may lie in these, but none of them is one.
_PARENTS = tuple(
    Path(name)
    for name in (
        *("/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/usr/local"),  # noqa: S108 - compared, not used
        *("/var", "/var/lib", "/Users", "/Applications"),
    )
)


def check_root(root: str, *, data_dir: Path, workspace: Path, force: bool) -> Path:
    """The folder, with links resolved. Touches the disk.

    Raises:
        InvalidInput: it is no absolute path of a folder, or one that tools should not have.
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
            f"root {root!r} lies in the service's own data folder; tools must not reach it",
            field="root",
        )
    doubt = _doubt(path, data)
    if doubt and not force:
        raise InvalidInput(
            f"root {root!r} {doubt}. Send `force: true` if tools shall have all of it",
            field="root",
        )
    return path


def _doubt(path: Path, data_dir: Path) -> str | None:
    """Why it is hardly meant."""
    if path in _PARENTS or path.parent == path:
        return "is a folder of the system, not of one project"
    if any(path.is_relative_to(tree) for tree in _TREES):
        return "belongs to the operating system"
    if path == _home():
        return "is the whole home folder"
    if data_dir.is_relative_to(path):
        return "holds the service's own data, with its tokens and its audit"
    return None


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None
