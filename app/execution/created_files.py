"""Files created by a session and unchanged since; it may delete them without approval."""

from __future__ import annotations

import os
import stat
import zlib
from collections import OrderedDict
from collections.abc import Iterable

MAX_SESSIONS = 500
MAX_PATHS = 1000
MAX_BYTES = 512 << 10
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_Content = tuple[int, int]
"""Size in bytes, and checksum."""


class CreatedFiles:
    """Bounded cache: the session idle the longest is evicted first, within a session the oldest
    file.

    Paths are absolute. Files larger than `MAX_BYTES` are not recorded.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[str, _Content]] = OrderedDict()

    def note(self, session_id: str, path: str, data: bytes) -> None:
        """Record a file that the session created, or changed after creating it."""
        if len(data) > MAX_BYTES:
            self.forget(session_id, path)
            return
        self._keep(session_id, path, _content(data))

    def missing(self, paths: Iterable[str]) -> list[str]:
        """Return the paths that do not exist yet; files there later are new."""
        return [path for path in paths if not os.path.lexists(path)]

    def note_new(self, session_id: str, paths: Iterable[str]) -> None:
        """Record the existing files as created by the session; blocks."""
        for path in paths:
            found = _read(path)
            if found is not None:
                self._keep(session_id, path, _content(found))

    def forget(self, session_id: str, path: str) -> None:
        """Forget a file that was deleted or changed by someone else."""
        self._sessions.get(session_id, OrderedDict()).pop(path, None)

    def knows(self, session_id: str, path: str) -> bool:
        """Return whether the session created the file, regardless of later changes."""
        return path in self._sessions.get(session_id, ())

    def holds(self, session_id: str, path: str) -> bool:
        """Return whether the session created the file and it is unchanged since."""
        kept = self._sessions.get(session_id, OrderedDict[str, _Content]()).get(path)
        if kept is None:
            return False
        found = _read(path)
        return found is not None and _content(found) == kept

    def _keep(self, session_id: str, path: str, content: _Content) -> None:
        files = self._sessions.setdefault(session_id, OrderedDict())
        self._sessions.move_to_end(session_id)
        files.pop(path, None)
        files[path] = content
        while len(files) > MAX_PATHS:
            files.popitem(last=False)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)


def _content(data: bytes) -> _Content:
    return len(data), zlib.crc32(data)


def _read(path: str) -> bytes | None:
    """Read a regular file with one name and no link on its path; None for anything else."""
    if os.path.realpath(path) != path:
        return None
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_size > MAX_BYTES:
            return None
        try:
            return file.read(MAX_BYTES)
        except OSError:
            return None
