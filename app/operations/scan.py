"""Search for lines in one buffer, which may contain several consecutive files.

The whole buffer is searched as one, never line by line: with RE2, which takes time linear in the
input whatever the pattern, releases the interpreter lock while it works, and with `never_nl` keeps
a match inside one line. Measured on 87 MB: RE2 finds a rare literal at 12 GB/s where `bytes.find`
does 1.5, and ignoring case at 1.8 GB/s where lower() + find do 0.7; once a file is known to contain
a literal, `bytearray.find` is cheaper per further hit (0.2 µs against 1.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import re2

from app.core.charsets import sure_encoding
from app.core.errors import ToolFailed
from app.operations.protocols.search import GrepLine, GrepQuery

Span = tuple[int, int]
_MAX_LINE_BYTES = 16_384
# Linear is not fast: RE2 may evaluate every instruction of the pattern for every byte, which takes
# seconds for this size and the worst patterns, and cannot be interrupted.
STEP_BYTES = 64 << 10
_MOST_WORK = 10**10
_NEWLINE = ord("\n")
_CUT = " … (line truncated)"
_ANY_BYTE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACK_REFERENCE = re.compile(r"invalid escape sequence: \\[1-9]")
_RETURN = re.compile(r"\\(?:r|x0[dD]|x\{0*[dD]\}|0?15)")
_OWN_TEXT = re.compile(r"\\[Az]|\(\?\w*-")
# the characters around a word are part of the match: RE2 has no look-around, and its \b knows only
# ASCII
_WORD = r"(?:^|[^\pL\pN_\n])(?:{})(?:$|[^\pL\pN_\n])"


class TooMuchWork(Exception):
    """A line or text is too long for a pattern of that size."""


def _go_on() -> None:
    return None


class LineMatcher:
    """Compiled form of a query's pattern.

    Invalid UTF-8 in a file never raises: RE2 lets no pattern match it. A literal that
    contains a line break, and `multiline`, let a match span lines; then `.` matches a
    line break too.

    Attributes:
        plain_breaks: lines must end with a single line feed, so that `$` matches their end; False
            if the pattern itself contains a carriage return.
        reads_letters: the pattern has non-ASCII letters, so text in another encoding must first be
            converted to UTF-8.

    Args:
        check: called after every step of lines; an exception ends the search.
        step_bytes: minimum bytes per step.

    Raises:
        ToolFailed: code `invalid_pattern`, with `reason` and where known `position`.
    """

    def __init__(
        self,
        query: GrepQuery,
        check: Callable[[], None] = _go_on,
        *,
        step_bytes: int = STEP_BYTES,
    ) -> None:
        pattern = query.pattern
        self._check = check
        self._step = step_bytes
        self.multiline = query.multiline or (query.fixed_strings and "\n" in pattern)
        try:
            encoded = pattern.encode()
        except UnicodeEncodeError as error:
            raise _invalid(pattern, "it contains a lone surrogate", error.start) from None
        plain = query.fixed_strings or re.escape(pattern) == pattern
        is_literal = plain and not (query.case_insensitive or query.word)
        self._literal = encoded if is_literal and encoded else None
        self._invert = query.invert
        own_text = not query.fixed_strings and _OWN_TEXT.search(pattern)
        escaped = not query.fixed_strings and _RETURN.search(pattern)
        self.plain_breaks = not ("\r" in pattern or escaped)
        self.reads_letters = not pattern.isascii()
        self._joinable = not (self.multiline or query.invert or own_text)
        self._by_steps = not (self.multiline or own_text)
        if not query.fixed_strings:
            _check_any_byte(pattern)
        self._regex = _compile(query, encoded, multiline=self.multiline)

    @property
    def joinable(self) -> bool:
        """Return whether files may be joined to one text with a line break after each.

        False if the pattern distinguishes the text's ends from a line's, or spans lines.
        """
        return self._joinable

    def first(self, buffer: bytearray, position: int, end: int) -> Span | None:
        """Return the first match from `position` in the text of joined files.

        Raises:
            TooMuchWork: the search would take too long.
        """
        while True:
            stop = self._next_stop(buffer, position, end)
            found = self._regex.search(buffer, position, stop)
            if found is not None:
                span: Span = found.span()
                return span
            if stop == end:
                return None
            self._check()
            position = stop + 1

    def _next_stop(self, buffer: bytearray, position: int, end: int) -> int:
        """Return the end of the next step: a line end if that makes no difference."""
        stop = end
        if self._by_steps and self._literal is None and end - position > self._step:
            line_end = buffer.find(b"\n", position + self._step, end)
            stop = end if line_end < 0 else line_end
        length = stop - position
        is_long = length > 2 * self._step and self._literal is None
        if is_long and length * self._regex.programsize > _MOST_WORK:
            raise TooMuchWork
        return stop

    def lines(self, buffer: bytearray, end: int) -> Iterator[Span]:
        """Yield spans `(start, stop)` of the requested lines in `buffer[:end]`, without line
        breaks.
        """
        spans = self._spans(buffer, end)
        if self.multiline:
            spans = single_lines(buffer, spans)
        return _other_lines(buffer, end, spans) if self._invert else spans

    def _spans(self, buffer: bytearray, end: int) -> Iterator[Span]:
        """Yield spans of matching lines; in multiline mode one may include several lines."""
        first = self.first(buffer, 0, end) if end else None
        if first is None:
            return iter(())
        if self._literal is not None:
            return _literal_lines(buffer, end, self._literal, first[0])
        return self._regex_lines(buffer, end, first)

    def _regex_lines(self, buffer: bytearray, end: int, match: Span) -> Iterator[Span]:
        position = 0
        while True:
            begin, finish = match
            if begin == end and buffer[end - 1] == _NEWLINE:
                return  # after the last line break there is no line
            start = buffer.rfind(b"\n", position, begin) + 1 or position
            stop = buffer.find(b"\n", max(begin, finish - 1), end)
            if stop < 0:
                stop = end
            yield start, stop
            position = stop + 1
            found = self.first(buffer, position, end) if position < end else None
            if found is None:
                return
            match = found


def _literal_lines(buffer: bytearray, end: int, literal: bytes, begin: int) -> Iterator[Span]:
    position = 0
    while begin >= 0:
        start = buffer.rfind(b"\n", position, begin) + 1 or position
        stop = buffer.find(b"\n", begin + len(literal) - 1, end)
        if stop < 0:
            stop = end
        yield start, stop
        position = stop + 1
        begin = buffer.find(literal, position, end)


def _other_lines(buffer: bytearray, end: int, spans: Iterator[Span]) -> Iterator[Span]:
    """Yield the lines of `buffer[:end]` that are not among `spans`."""
    position = 0
    while position < end:
        start, stop = next(spans, (end, end))
        while position < start:
            line_end = buffer.find(b"\n", position, start)
            line_end = start if line_end < 0 else line_end
            yield position, line_end
            position = line_end + 1
        position = stop + 1


def single_lines(buffer: bytearray, spans: Iterator[Span]) -> Iterator[Span]:
    """Split spans of several lines into their lines."""
    for start, stop in spans:
        position = start
        while (line_end := buffer.find(b"\n", position, stop)) >= 0:
            yield position, line_end
            position = line_end + 1
        yield position, stop


class MatchWriter:
    """Conversion of matching spans of one buffer, in order, to numbered lines with context."""

    def __init__(self, path: str, buffer: bytearray, end: int, query: GrepQuery) -> None:
        self._path = path
        self._buffer = buffer
        self._end = end
        self._before = query.before
        self._after = query.after
        self._number = 1  # number of the line that starts at _counted
        self._counted = 0
        self._written = 0  # everything before this offset was emitted or skipped
        self._encoding: str | None = None  # lines that are not UTF-8
        self._owed = 0  # remaining context lines after the last match

    def matched(self, start: int, stop: int) -> Iterator[GrepLine]:
        """Yield the match's line, preceded by context since the last match."""
        yield from self._trailing(start)
        first = start
        for _ in range(self._before):
            if first <= self._written:
                break
            first = self._buffer.rfind(b"\n", self._written, first - 1) + 1 or self._written
        yield from self._context(first, start)
        yield self._line(start, stop, is_match=True)
        self._written = stop + 1
        self._owed = self._after

    def finish(self) -> Iterator[GrepLine]:
        """Yield context after the last match."""
        yield from self._trailing(self._end)

    def _trailing(self, until: int) -> Iterator[GrepLine]:
        while self._owed and self._written < until:
            stop = self._line_end(self._written)
            yield self._line(self._written, stop, is_match=False)
            self._written = stop + 1
            self._owed -= 1

    def _context(self, position: int, until: int) -> Iterator[GrepLine]:
        while position < until:
            stop = self._line_end(position)
            yield self._line(position, stop, is_match=False)
            position = stop + 1

    def _line_end(self, position: int) -> int:
        stop = self._buffer.find(b"\n", position, self._end)
        return self._end if stop < 0 else stop

    def _line(self, start: int, stop: int, *, is_match: bool) -> GrepLine:
        self._number += self._buffer.count(b"\n", self._counted, start)
        self._counted = start
        raw = self._buffer[start : min(stop, start + _MAX_LINE_BYTES)]
        text = self._decoded(raw).removesuffix("\r")
        if stop - start > _MAX_LINE_BYTES:
            text += _CUT
        return GrepLine(self._path, self._number, text, is_match)

    def _decoded(self, raw: bytearray) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            if self._encoding is None:
                self._encoding = sure_encoding(bytes(self._buffer[: self._end])) or "utf-8"
            return raw.decode(self._encoding, "replace")


def _compile(query: GrepQuery, pattern: bytes, *, multiline: bool) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not query.case_insensitive
    options.literal = query.fixed_strings and not query.word
    options.never_nl = not multiline
    options.dot_nl = multiline
    options.never_capture = True
    source = pattern if options.literal else b"(?m)" + pattern
    try:
        if query.word and query.fixed_strings:
            return re2.compile(_whole_words(query).encode(), options)
        regex = re2.compile(source, options)
        # only now wrapped: inside, `a)(b` alone would be accepted
        return re2.compile(_whole_words(query).encode(), options) if query.word else regex
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else "not understood"
        reason = reason.removesuffix(f": (?m){query.pattern}")
        fragment = reason.partition(": ")[2]
        position = query.pattern.find(fragment) if fragment else -1
        raise _invalid(query.pattern, _explain(reason, query.pattern), position) from None


def _whole_words(query: GrepQuery) -> str:
    return "(?m)" + _WORD.format(
        re2.escape(query.pattern) if query.fixed_strings else query.pattern
    )


def _check_any_byte(pattern: str) -> None:
    # \C alone would let a match cross line breaks and make the search quadratic
    found = _ANY_BYTE.search(pattern)
    if found:
        raise _invalid(pattern, r"\C is not supported, use (?s:.)", found.end() - 2)


def _explain(reason: str, pattern: str) -> str:
    if _LOOK_AROUND.search(pattern) or _BACK_REFERENCE.search(reason):
        return f"{reason} (look-around and back-references are not supported)"
    return reason


def _invalid(pattern: str, reason: str, position: int) -> ToolFailed:
    shown = pattern[:200].encode("utf-8", "replace").decode()
    where = f" at position {position}" if position >= 0 else ""
    return ToolFailed(
        f"Invalid pattern {shown!r}{where}: {reason}. "
        "Fix the RE2 syntax, or set fixed_strings to search for literal text",
        code="invalid_pattern",
        pattern=shown,
        reason=reason,
        position=position if position >= 0 else None,
    )
