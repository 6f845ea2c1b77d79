"""Private temporary folders: created for one user, removed with any content."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "tollgate-tmp-"
_LOCK = ".lock"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TemporaryFolders:
    """Base folder of this process with a private folder for each use. All methods block.

    The base is locked as long as the process lives; bases that a killed process left
    behind are removed by the next one of the same user.

    Args:
        place: location of the base; by default the system's temporary folder.
        uid: user of the private folders, if different.
    """

    def __init__(self, place: Path | None = None, uid: int | None = None) -> None:
        self._place = place or Path(tempfile.gettempdir())
        self._uid = uid
        self._base: Path | None = None
        self._lock = -1
        self._opening = threading.Lock()

    def make(self) -> str:
        """Create a private folder; return its absolute real path.

        Raises:
            OSError: it cannot be created.
        """
        name = secrets.token_hex(8)
        with self._opening:
            folder = self._open_base() / name
            try:
                folder.mkdir(mode=0o700)
            except FileNotFoundError:
                self._let_go()  # removed by a cleanup of temporary files
                folder = self._open_base() / name
                folder.mkdir(mode=0o700)
        if self._uid is not None:
            os.chown(folder, self._uid, self._uid)
        return str(folder)

    def remove(self, folder: str) -> None:
        """Remove a private folder with its contents; no effect if it is already gone."""
        remove_tree(Path(folder))

    def close(self) -> None:
        """Remove all remaining folders; may be called repeatedly."""
        with self._opening:
            if self._base is not None:
                remove_tree(self._base)
                self._let_go()

    def _let_go(self) -> None:
        os.close(self._lock)
        self._base = None

    def _open_base(self) -> Path:
        if self._base is None:
            self._place.mkdir(parents=True, exist_ok=True)
            place = self._place.resolve()
            _sweep(place)
            base = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            # another user must be able to traverse it
            base.chmod(0o700 if self._uid is None else 0o711)
            self._lock = os.open(base / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._base = base
        return self._base


def _sweep(place: Path) -> None:
    """Remove our bases in `place` that no living process holds."""
    for base in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = base.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            lock = os.open(base / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(base)
            finally:
                os.close(lock)


def remove_tree(folder: Path) -> None:
    """Remove `folder` at any depth and with any modes; follows no link.

    Entries that cannot be removed stay.
    """
    with suppress(OSError):
        _Removal(os.open(folder, _PATH)).run()
        folder.rmdir()


@dataclass(slots=True)
class _FolderLevel:
    """Folder on the way down.

    Attributes:
        identity: its device and inode.
        name: in the folder above.
        folders: names of those in it that are still to be removed.
    """

    identity: tuple[int, int]
    name: str
    folders: list[str]


class _Removal:
    """Removal with one open descriptor, at depths beyond the limits of paths, recursion and
    descriptors.

    The way up goes through `..`, which leads elsewhere if the folder is moved meanwhile; the
    removal then stops.
    """

    def __init__(self, top: int) -> None:
        self._way: list[_FolderLevel] = []
        self._here = top

    def run(self) -> None:
        """Empty the top folder; takes ownership of its descriptor.

        Raises:
            OSError: an entry cannot be removed.
        """
        try:
            self._enter(".")
            while True:
                if self._way[-1].folders:
                    self._enter(self._way[-1].folders.pop())
                elif len(self._way) > 1:
                    self._leave()
                else:
                    return
        finally:
            os.close(self._here)

    def _enter(self, name: str) -> None:
        self._go(enter_folder(self._here, name))
        self._way.append(_FolderLevel(self._identity(), name, _remove_files(self._here)))

    def _leave(self) -> None:
        left = self._way.pop()
        self._go(os.open("..", _FOLDER, dir_fd=self._here))
        if self._identity() != self._way[-1].identity:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), left.name)
        os.rmdir(left.name, dir_fd=self._here)

    def _go(self, descriptor: int) -> None:
        os.close(self._here)
        self._here = descriptor

    def _identity(self) -> tuple[int, int]:
        status = os.fstat(self._here)
        return status.st_dev, status.st_ino


def _remove_files(folder: int) -> list[str]:
    """Remove the files; return the names of remaining folders."""
    folders = []
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        if is_folder:
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


def enter_folder(parent: int | None, name: str) -> int:
    """Open a program's folder for listing and changing, whatever its mode."""
    path = os.open(name, _PATH, dir_fd=parent)
    try:
        if os.fstat(path).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            # through the descriptor: a name could be replaced by a link meanwhile
            Path(f"/proc/self/fd/{path}").chmod(stat.S_IRWXU)
        return os.open(".", _FOLDER, dir_fd=path)
    finally:
        os.close(path)
