"""Private temporary folders: made for one user, removed whatever a program left in them."""

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
    """One base folder of this process with a private folder for each use. All blocking.

    The base is locked as long as the process lives; bases that a killed process left
    behind are removed by the next one of the same user.

    Args:
        place: where the base is made; the system's temporary folder by default.
        uid: who uses the private folders, when that is another user.
    """

    def __init__(self, place: Path | None = None, uid: int | None = None) -> None:
        self._place = place or Path(tempfile.gettempdir())
        self._uid = uid
        self._base: Path | None = None
        self._lock = -1
        self._opening = threading.Lock()

    def make(self) -> str:
        """A new private folder, as an absolute real path.

        Raises:
            OSError: it cannot be made.
        """
        name = secrets.token_hex(8)
        with self._opening:
            folder = self._open_base() / name
            try:
                folder.mkdir(mode=0o700)
            except FileNotFoundError:
                self._let_go()  # somebody tidied the place up
                folder = self._open_base() / name
                folder.mkdir(mode=0o700)
        if self._uid is not None:
            os.chown(folder, self._uid, self._uid)
        return str(folder)

    def remove(self, folder: str) -> None:
        """Remove a private folder with all that is in it; one that is gone already is fine."""
        remove_tree(Path(folder))

    def close(self) -> None:
        """Remove what is left; harmless when repeated."""
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
            # another user must be able to pass through
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
    """Remove `folder`, however deep it is nested and whatever its modes; follows no link.

    What cannot be removed stays.
    """
    with suppress(OSError):
        _Removal(os.open(folder, _PATH)).run()
        folder.rmdir()


@dataclass(slots=True)
class _FolderLevel:
    """A folder on the way down.

    Attributes:
        identity: its device and inode.
        name: in the folder above.
        folders: names of those in it that are still to be removed.
    """

    identity: tuple[int, int]
    name: str
    folders: list[str]


class _Removal:
    """Walks down and up with one open descriptor: a program may have made more levels than
    a path, a recursion or our descriptors can hold.

    The way up goes through `..`, which leads elsewhere when somebody moves the folder
    meanwhile; then the removal stops.
    """

    def __init__(self, top: int) -> None:
        self._way: list[_FolderLevel] = []
        self._here = top

    def run(self) -> None:
        """Empty the top folder; takes ownership of its descriptor.

        Raises:
            OSError: something cannot be removed.
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
    """The names of folders that are left."""
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
    """Open a folder of a program's for listing and changing, whatever its mode is."""
    path = os.open(name, _PATH, dir_fd=parent)
    try:
        if os.fstat(path).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            # through the descriptor: a name could be made a link meanwhile
            Path(f"/proc/self/fd/{path}").chmod(stat.S_IRWXU)
        return os.open(".", _FOLDER, dir_fd=path)
    finally:
        os.close(path)
