"""What each session last read or wrote of each file, to notice that somebody else wrote."""

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
"ID of a project, and a path in it."


@dataclass(frozen=True, slots=True)
class SeenFile:
    """One file as a session knows it; `size` in bytes, `data` while there is room for it."""

    checksum: int
    size: int
    data: bytes | None


def look_at(data: bytes) -> SeenFile:
    """A file with this content, as it is remembered."""
    # Every read pays for this. It is there to notice a change, which nobody gains from hiding.
    return SeenFile(zlib.crc32(data), len(data), data if len(data) <= MAX_KEPT_FILE else None)


def is_same(seen: SeenFile, now: SeenFile) -> bool:
    """Whether the file is as it was."""
    return (seen.checksum, seen.size) == (now.checksum, now.size)


class SeenFiles:
    """Bounded: the session that was idle longest goes first, in a session the oldest file.

    Small files are kept whole as long as all of them fit into `MAX_KEPT_BYTES`, so that a
    refusal can show what changed.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[Place, SeenFile]] = OrderedDict()
        self._kept: OrderedDict[tuple[str, Place], int] = OrderedDict()
        self._bytes = 0

    def note(self, session_id: str, place: Place, seen: SeenFile | None) -> None:
        """The session has read or written this; None: it knows nothing of the file any more."""
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
        """What the session last knew; None when it never read the file, or long ago."""
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
    """The refusal to overwrite what somebody else wrote, with what they changed."""
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
