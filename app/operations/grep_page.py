"""Collection of one page of a search over many buffers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from app.operations.content_detection import (
    as_utf8,
    has_mark,
    is_binary,
    unmarked,
    with_plain_breaks,
)
from app.operations.protocols.search import GrepLine, GrepQuery, GrepResult
from app.operations.scan import LineMatcher, MatchWriter, Span, TooMuchWork

COUNT_AHEAD = 200_000


class Joined(NamedTuple):
    """File at `start:stop` of a buffer with several files."""

    path: str
    start: int
    stop: int


class GrepPage:
    """Collector of a page: feed files in path order with `add` or `add_joined`, then read `result`.

    `total` counts matching lines for `content`, files for the other modes, including those beyond
    the page; in `content` it stops `COUNT_AHEAD` lines after the page, so that a pattern like `.`
    does not count every line of a large tree. A context line that is a match of another page is
    shown as context.

    Attributes:
        skipped: number of files not searched; the walker adds its own.
    """

    def __init__(self, query: GrepQuery, matcher: LineMatcher) -> None:
        self.skipped = 0
        self._query = query
        self._matcher = matcher
        self._last_counted = query.offset + query.limit + COUNT_AHEAD
        self._end = query.offset + query.limit if query.limit else None
        self._lines: list[GrepLine] = []
        self._counts: list[tuple[str, int]] = []
        self._total = 0
        self._searched = 0

    @property
    def plain_breaks(self) -> bool:
        """Return whether every line of added data must end with a single line feed."""
        return self._matcher.plain_breaks

    @property
    def reads_letters(self) -> bool:
        """Return whether added data must be UTF-8."""
        return self._matcher.reads_letters

    @property
    def full(self) -> bool:
        """Return whether nothing more will be taken or counted, so that the walk can stop."""
        content = self._query.mode == "content"
        return content and self._end is not None and self._total >= self._last_counted

    def add(self, path: str, buffer: bytearray, size: int) -> None:
        """Search `buffer[:size]`; binary content counts as skipped."""
        if size and has_mark(buffer):
            buffer, size = unmarked(buffer, size)
        if is_binary(buffer, size):
            self.skipped += 1
            return
        if self.reads_letters and (letters := as_utf8(bytes(buffer[:size]))) is not None:
            buffer, size = bytearray(letters), len(letters)
        if self.plain_breaks and (plain := with_plain_breaks(buffer, 0, size)) is not None:
            buffer, size = bytearray(plain), len(plain)
        self._add_plain(path, buffer, size)

    def _add_plain(self, path: str, buffer: bytearray, size: int) -> None:
        """Search text that satisfies `plain_breaks` and `reads_letters`."""
        try:
            self._collect(path, buffer, size)
        except TooMuchWork:
            self.skipped += 1
        else:
            self._searched += 1

    def add_joined(self, files: Sequence[Joined], buffer: bytearray) -> None:
        """Search files in `buffer`, in this order, each followed by a line break.

        One search runs over all of them: a tree where few files match costs one call for hundreds
        of files. They must not start with a byte order mark, and must satisfy `plain_breaks` and
        `reads_letters`.
        """
        if not self._matcher.joinable:
            self._add_each(files, buffer)
            return
        starts = [file.start for file in files]
        end = files[-1].stop + 1 if files else 0
        any_binary = buffer.find(b"\0", 0, end) >= 0
        position, done = 0, 0
        while done < len(files) and not self.full:
            try:
                found = self._matcher.first(buffer, position, end)
            except TooMuchWork:
                self._add_each(files[done:], buffer)
                return
            index = len(files) if found is None else bisect_right(starts, found[0]) - 1
            passed = files[done : index + 1]
            binary = sum(_is_binary(file, buffer) for file in passed) if any_binary else 0
            self.skipped += binary
            self._searched += len(passed) - binary
            done = index + 1
            if found is None:
                return
            file = files[index]
            position = file.stop + 1
            if not (any_binary and _is_binary(file, buffer)):
                self._take(file, buffer, found)

    def result(self) -> GrepResult:
        shown = len(self._counts)
        if self._query.mode == "content":
            shown = sum(line.is_match for line in self._lines)
        return GrepResult(
            lines=tuple(self._lines),
            counts=tuple(self._counts),
            total=self._total,
            files_searched=self._searched,
            files_skipped=self.skipped,
            truncated=self._total > self._query.offset + shown,
        )

    def _add_each(self, files: Sequence[Joined], buffer: bytearray) -> None:
        for path, start, stop in files:
            if self.full:
                return
            # Its line endings must not be converted twice: `\r\r\n` is one and a character.
            own = buffer[start:stop]
            if is_binary(own, len(own)):
                self.skipped += 1
            else:
                self._add_plain(path, own, len(own))

    def _take(self, file: Joined, buffer: bytearray, found: Span) -> None:
        """Add the matches `found` in a joined `file`, which may be only its line break."""
        is_certain = found[0] < found[1] <= file.stop
        if is_certain and self._query.mode == "files_with_matches":
            self._take_file(file.path, 1)
        else:
            own = buffer[file.start : file.stop]
            self._collect(file.path, own, len(own))

    def _collect(self, path: str, buffer: bytearray, size: int) -> None:
        spans = self._matcher.lines(buffer, size)
        first = next(spans, None)
        if first is None:
            return
        if self._query.mode == "files_with_matches":
            # One match decides; counting the rest of a large file is unnecessary.
            self._take_file(path, 1)
        elif self._query.mode == "content":
            self._take_lines(path, buffer, size, [first, *spans])
        else:
            self._take_file(path, 1 + sum(1 for _ in spans))

    def _take_file(self, path: str, count: int) -> None:
        if self._in_page(self._total):
            self._counts.append((path, count))
        self._total += 1

    def _in_page(self, index: int) -> bool:
        return index >= self._query.offset and (self._end is None or index < self._end)

    def _take_lines(self, path: str, buffer: bytearray, size: int, matched: list[Span]) -> None:
        before = self._total
        self._total += len(matched)
        first = max(0, self._query.offset - before)
        last = len(matched) if self._end is None else max(0, self._end - before)
        wanted = matched[first:last]
        if not wanted:
            return
        writer = MatchWriter(path, buffer, size, self._query)
        for start, stop in wanted:
            self._lines.extend(writer.matched(start, stop))
        self._lines.extend(writer.finish())


def _is_binary(file: Joined, buffer: bytearray) -> bool:
    return is_binary(buffer, file.stop, file.start)
