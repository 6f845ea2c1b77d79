"""Last known state of files per session, to detect changes by others."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from dataclasses import dataclass

from app.core.errors import ToolFailed
from app.core.text import truncate
from app.tools.files.diff import unified_diff

MAX_SESSIONS = 500
MAX_PATHS = 1000
MAX_KEPT_BYTES = 32 << 20
MAX_KEPT_FILE = 256 << 10
_SHOWN = 1500

Place = tuple[str, str]
"""Project ID, and a path in the project."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """State of a file as known to a session; `size` in bytes, `data` while memory permits."""

    checksum: int
    size: int
    data: bytes | None


def look_at(data: bytes) -> SeenFile:
    """Return the state to remember for a file with this content."""
    # On the path of every read. It only detects changes, so a weak but fast digest suffices.
    return SeenFile(zlib.crc32(data), len(data), data if len(data) <= MAX_KEPT_FILE else None)


def is_same(seen: SeenFile, now: SeenFile) -> bool:
    """Return whether the file is unchanged."""
    return (seen.checksum, seen.size) == (now.checksum, now.size)


class SeenFiles:
    """Bounded cache: the session idle the longest is evicted first, within a session the oldest
    file.

    Small files are stored completely as long as all fit into `MAX_KEPT_BYTES`, so that a refusal
    can show the difference.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[Place, SeenFile]] = OrderedDict()
        self._kept: OrderedDict[tuple[str, Place], int] = OrderedDict()
        self._bytes = 0

    def note(self, session_id: str, place: Place, seen: SeenFile | None) -> None:
        """Record the state that the session read or wrote; None removes it."""
        files = self._sessions.setdefault(session_id, OrderedDict())
        self._sessions.move_to_end(session_id)
        self._forget(session_id, place)
        files.pop(place, None)
        if seen is not None:
            files[place] = seen
            if seen.data is not None:
                self._kept[session_id, place] = seen.size
                self._bytes += seen.size
        self._shrink()

    def last(self, session_id: str, place: Place) -> SeenFile | None:
        """Return the state last seen by the session; None if unknown."""
        files = self._sessions.get(session_id)
        return None if files is None else files.get(place)

    def _shrink(self) -> None:
        while len(self._sessions) > MAX_SESSIONS:
            session_id, files = self._sessions.popitem(last=False)
            for place in files:
                self._forget(session_id, place)
        session_id = next(reversed(self._sessions))
        files = self._sessions[session_id]
        while len(files) > MAX_PATHS:
            place, _ = files.popitem(last=False)
            self._forget(session_id, place)
        while self._bytes > MAX_KEPT_BYTES:
            (session_id, place), size = self._kept.popitem(last=False)
            self._bytes -= size
            seen = self._sessions[session_id][place]
            self._sessions[session_id][place] = SeenFile(seen.checksum, seen.size, None)

    def _forget(self, session_id: str, place: Place) -> None:
        self._bytes -= self._kept.pop((session_id, place), 0)


def changed_since_read(path: str, seen: SeenFile, now: bytes) -> ToolFailed:
    """Return the refusal to overwrite a change by someone else, including the difference."""
    message = (
        f"{path!r} has changed since this session last read or wrote it"
        f" ({seen.size} bytes then, {len(now)} now); nothing was written. Read it again, or set"
        " overwrite_changed"
    )
    if seen.data is not None and len(now) <= MAX_KEPT_FILE:
        then, text = (data.decode("utf-8", "replace") for data in (seen.data, now))
        diff = unified_diff(path, then, text).text
        message = f"{message}. What changed:\n{truncate(diff, _SHOWN, '… (diff cut)')}"
    return ToolFailed(message, code="changed_since_read", path=path)
