"""Conversion of the operating system's errors to ours."""

from __future__ import annotations

import errno
import os

from app.core.errors import OutsideWorkspace, StorageUnavailable, TollgateError, ToolFailed
from app.core.protected_paths import protected

_CODES: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("file_not_found", "File not found: {path!r}"),
    errno.ENOTDIR: ("not_a_directory", "Path is not a directory: {path!r}"),
    errno.EISDIR: ("not_a_file", "Path is not a file: {path!r}"),
    errno.ENXIO: ("not_a_file", "Path is not a file: {path!r}"),
    errno.EACCES: ("permission_denied", "Permission denied: {path!r}"),
    errno.EPERM: ("permission_denied", "Permission denied: {path!r}"),
    errno.EROFS: ("permission_denied", "The file system is read-only: {path!r}"),
    errno.ELOOP: ("invalid_path", "Too many symbolic links: {path!r}"),
    errno.ENAMETOOLONG: ("invalid_path", "A name in the path is too long: {path!r}"),
    errno.E2BIG: ("argument_list_too_long", "The arguments of {path!r} are too long: use a file"),
    errno.EAGAIN: (
        "workspace_changing",
        "Folders keep changing while {path!r} is opened; try again",
    ),
}
_STORAGE: dict[int, str] = {
    errno.ENOSPC: "No space left for {path!r}: free space on the workspace's disk and try again",
    errno.EDQUOT: "Disk quota exceeded at {path!r}: raise it or delete files and try again",
    errno.EMFILE: "Too many open files: raise the service's open-files limit (ulimit -n)",
    errno.ENFILE: "Too many open files on this machine: raise fs.file-max",
}


def failure(error: OSError, path: str) -> TollgateError:
    """Return the error to raise for `error` about `path`, as written by the caller."""
    number = error.errno or 0
    if number == errno.EXDEV:
        return OutsideWorkspace(path)
    if number in _STORAGE:
        return StorageUnavailable(_STORAGE[number].format(path=path), path=path)
    if number in _CODES:
        code, message = _CODES[number]
        return ToolFailed(message.format(path=path), code=code, path=path)
    return ToolFailed(f"{os.strerror(number)}: {path!r}", code="io_error", path=path)


def not_a_file(path: str) -> ToolFailed:
    return ToolFailed(f"Path is not a file: {path!r}", code="not_a_file", path=path)


def too_large(path: str, size: int, limit: int) -> ToolFailed:
    return ToolFailed(
        f"File is too large: {path!r} has {size} bytes, the limit is {limit}; read it in parts",
        code="file_too_large",
        path=path,
        size=size,
        limit=limit,
    )


def check_link(path: str, place: str, named: str) -> None:
    """Refuse a path that leads through a link to a file that other programs run later.

    The decision about the call was based on the path, not on its target.

    Args:
        path: as written by the caller.
        place: its location, with links resolved.
        named: its location if no component were a link.

    Raises:
        ToolFailed: code `link_to_protected_file`.
    """
    row = protected(place)
    if row is None or row.treatment == "report" or protected(named) is row:
        return
    raise ToolFailed(
        f"{path!r} leads through a link to {place!r}, which {row.run_by} runs or obeys {row.when};"
        " name that path instead",
        code="link_to_protected_file",
        path=path,
        leads_to=place,
    )


def service_folder(path: str) -> ToolFailed:
    return ToolFailed(
        f"{path!r} belongs to the service or the system, and tools cannot access it",
        code="permission_denied",
        path=path,
    )
