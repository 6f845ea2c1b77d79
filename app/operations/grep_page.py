"""Collecting one page of a search over many buffers."""

from __future__ import annotations

from app.operations.protocols import GrepLine, GrepQuery, GrepResult
from app.operations.scan import LineMatcher, LineWriter, Span, is_binary, single_lines

COUNT_AHEAD = 200_000


class GrepPage:
    """Feed files in path order with `add`, then take `result`.

    `total` counts matching lines for `content`, files for the other modes, also beyond the
    page; in `content` it stops `COUNT_AHEAD` lines after the page, so that a pattern like `.`
    does not count every line of a large tree. A context line that is itself a match of
    another page shows as context.

    Attributes:
        skipped: files that were not searched; the walker adds its own.
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
    def full(self) -> bool:
        """Nothing more will be taken or counted: stop the walk."""
        content = self._query.mode == "content"
        return content and self._end is not None and self._total >= self._last_counted

    def add(self, path: str, buffer: bytearray, size: int) -> None:
        """Search `buffer[:size]`; binary content is counted as skipped."""
        if is_binary(buffer, size):
            self.skipped += 1
            return
        self._searched += 1
        spans = self._matcher.lines(buffer, size)
        first = next(spans, None)
        if first is None:
            return
        if self._query.mode == "files_with_matches":
            # One hit decides; counting the rest of a large file would be for nothing.
            self._take_file(path, 1)
            return
        matched = [first, *spans]
        if self._matcher.multiline:
            matched = list(single_lines(buffer, iter(matched)))
        if self._query.mode == "content":
            self._take_lines(path, buffer, size, matched)
        else:
            self._take_file(path, len(matched))

    def _take_file(self, path: str, count: int) -> None:
        if self._in_page(self._total):
            self._counts.append((path, count))
        self._total += 1

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
        writer = LineWriter(path, buffer, size, self._query)
        for start, stop in wanted:
            self._lines.extend(writer.matched(start, stop))
        self._lines.extend(writer.finish())
