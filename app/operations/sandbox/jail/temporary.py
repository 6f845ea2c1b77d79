"""Private `/tmp` of a tree: its private folder, mounted over the usual temporary folders.

Folders below `/tmp` that the tree needs stay at their paths, which are then inside the private
folder. Landlock therefore grants the rights of the private folder in them, and only mounts enforce
read-only and no-execute. An earlier program of the same workspace may have put anything into the
private folder, so no link in it is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from app.operations.sandbox.jail import folder, namespaces
from app.operations.sandbox.jail.kernel import mount

PLACES = ("/tmp", "/var/tmp")  # noqa: S108 - what is mounted there belongs to the tree
_BIND, _RECURSIVE = 4096, 16384
_PATH = os.O_PATH | os.O_CLOEXEC
_FOLDER = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW
_TRIES = 16
_PASSABLE = 0o555
_MODE = 0o755
_OWN = 0o700
_CACHE = ".cache"


def put_over(
    private: str, kept: Sequence[str], *, unrun: Sequence[str], narrowed: bool
) -> tuple[str, ...]:
    """Mount `private` over the machine's temporary folders.

    A temporary folder that is kept, or is inside a kept one, stays the machine's. So does one above
    a kept folder of which the tree may use only a part.

    Args:
        kept: absolute paths; those below temporary folders stay at their paths.
        unrun: those of `kept` in which no program may run.
        narrowed: the tree is restricted to some folders in them, which only Landlock enforces.

    Returns:
        Its mount points.

    Raises:
        OSError: as the kernel answers.
    """
    wanted = _outermost([os.path.normpath(path) for path in kept])
    mounted: list[str] = []
    with ExitStack() as opened:
        source = _open(opened, folder.open_plain(private))
        # covered paths can no longer be opened
        below = [found for path in wanted if (found := _kept(opened, path)) is not None]
        for place in PLACES:
            inside = [one for one in below if one.path.startswith(f"{place}/")]
            if _is_in(place, wanted) or not _is_folder(place) or (narrowed and inside):
                continue
            mount(source, place, "", _BIND)
            mounted.append(place)
            for one in inside:
                target = _way(opened, place, one.path, is_folder=one.is_folder)
                mount(one.here, target, "", _BIND | _RECURSIVE)
                if one.path in unrun:
                    namespaces.change(one.path, namespaces.SET_NO_EXEC, 0, namespaces.AT_RECURSIVE)
    return tuple(mounted)


def mount_cache(cache: str, private: str, uid: int | None) -> bool:
    """Mount a folder at `.cache` of `private`; False if anything but a folder is there.

    Args:
        uid: owner of the mount point, if it is created by root for another user.

    Raises:
        OSError: as the kernel answers.
    """
    with ExitStack() as opened:
        source = _open(opened, folder.open_plain(cache))
        home = folder.open_plain(private)
        opened.callback(os.close, home)
        try:
            os.mkdir(_CACHE, _OWN, dir_fd=home)
            if uid is not None and os.geteuid() == 0:
                os.chown(_CACHE, uid, uid, dir_fd=home, follow_symlinks=False)
        except FileExistsError:
            pass
        try:
            target = os.open(_CACHE, _FOLDER, dir_fd=home)
        except OSError:
            return False
        mount(source, _open(opened, target), "", _BIND)
    return True


def _is_in(place: str, paths: Sequence[str]) -> bool:
    return any(f"{place}/".startswith(f"{path.rstrip('/')}/") for path in paths)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _outermost(paths: Sequence[str]) -> list[str]:
    """Return those not inside another one."""
    found: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{one}/") for one in found):
            found.append(path)
    return found


@dataclass(frozen=True, slots=True)
class _StagedFile:
    """Entry that stays at `path`; `here` refers to it even below a mount."""

    path: str
    here: str
    is_folder: bool


def _kept(opened: ExitStack, path: str) -> _StagedFile | None:
    """Open the entry below a temporary folder; None if it does not exist."""
    if not any(path.startswith(f"{place}/") for place in PLACES):
        return None
    try:
        descriptor = os.open(path, _PATH)
    except OSError:
        return None
    mode = os.fstat(descriptor).st_mode
    return _StagedFile(path, _open(opened, descriptor), stat.S_ISDIR(mode))


def _open(opened: ExitStack, descriptor: int) -> str:
    opened.callback(os.close, descriptor)
    return f"/proc/self/fd/{descriptor}"


def _way(opened: ExitStack, place: str, path: str, *, is_folder: bool) -> str:
    """Return the location of `path` below the new `place`; created if missing."""
    here = os.open(place, _FOLDER)
    opened.callback(os.close, here)
    *above, name = path.removeprefix(f"{place}/").split("/")
    for step in above:
        here = _enter(here, step, is_folder=True)
        opened.callback(os.close, here)
    return _open(opened, _enter(here, name, is_folder=is_folder))


def _enter(here: int, name: str, *, is_folder: bool) -> int:
    """Open a folder or file in the folder `here`; replaces anything else with the name."""
    for _ in range(_TRIES):
        try:
            found = os.open(name, _PATH | os.O_NOFOLLOW, dir_fd=here)
        except FileNotFoundError:
            _make(here, name, is_folder=is_folder)
            continue
        mode = os.fstat(found).st_mode
        if stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode):
            if is_folder and mode & _PASSABLE != _PASSABLE:
                os.chmod(f"/proc/self/fd/{found}", _MODE)  # noqa: PTH101
            return found
        os.close(found)
        _remove(here, name, is_folder=stat.S_ISDIR(mode))
    raise OSError(errno.EAGAIN, "the temporary folder keeps changing", name)


def _make(here: int, name: str, *, is_folder: bool) -> None:
    try:
        if is_folder:
            os.mkdir(name, _MODE, dir_fd=here)
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=here))
    except FileExistsError:
        return  # created by another process


def _remove(here: int, name: str, *, is_folder: bool) -> None:
    try:
        if is_folder:
            os.rmdir(name, dir_fd=here)
        else:
            os.unlink(name, dir_fd=here)
    except FileNotFoundError:
        return
