"""Regular expressions on a text: RE2 syntax, linear time, and limited work per call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolFailed

MAX_RESULT = 2_000_000
"""Maximum characters of a result."""
# Matcher steps per character times characters: some tenths of a second.
_MAX_WORK = 100_000_000
_SECONDS = 1.5
# Size of a match as JSON, besides its text.
_AROUND_MATCH, _AROUND_GROUP = 60, 4
_ESCAPE = re.compile(r"\\(\d{1,2}|g<([^>]{1,100})>|.)", re.DOTALL)
_KEPT = {"n": "\n", "t": "\t", "\\": "\\"}

Monotonic = Callable[[], float]


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One match: characters `start` to `end` of the text, and its participating groups."""

    text: str
    start: int
    end: int
    groups: tuple[str | None, ...]
    named: dict[str, str | None]

    def to_data(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "groups": list(self.groups),
            "named": self.named,
        }


def extract(
    pattern: str, text: str, *, ignore_case: bool, limit: int, monotonic: Monotonic
) -> tuple[list[PatternMatch], bool]:
    """Return the first `limit` matches, and whether there are more.

    Raises:
        ToolFailed: `bad_pattern`, `pattern_too_costly` or `result_too_large`.
    """
    found: list[PatternMatch] = []
    room = MAX_RESULT
    for match in _matches(_compiled(pattern, ignore_case=ignore_case), text, monotonic):
        if len(found) == limit:
            return found, True
        groups = match.groups()
        room -= _AROUND_MATCH + len(match.group())
        room -= sum(_AROUND_GROUP + len(group or "") for group in groups)
        if room < 0:
            raise too_large()
        start, end = match.span()
        found.append(PatternMatch(match.group(), start, end, groups, match.groupdict()))
    return found, False


def substitute(
    pattern: str, text: str, replacement: str, *, ignore_case: bool, monotonic: Monotonic
) -> tuple[str, int]:
    r"""Return `text` with every match replaced, and their number.

    In `replacement`, `\1` and `\g<name>` insert groups; `\n`, `\t` and `\\` insert a newline, a tab
    and a backslash.

    Raises:
        ToolFailed: see `extract`; or `bad_replacement`.
    """
    compiled = _compiled(pattern, ignore_case=ignore_case)
    template = _template(replacement, compiled)
    parts: list[str] = []
    last, count, room = 0, 0, MAX_RESULT
    for match in _matches(compiled, text, monotonic):
        start, end = match.span()
        piece = text[last:start] + "".join(_filled(part, match) for part in template)
        room -= len(piece)
        if room < 0:
            raise too_large()
        parts.append(piece)
        last, count = end, count + 1
    if len(text) - last > room:
        raise too_large()
    return "".join([*parts, text[last:]]), count


def too_large() -> ToolFailed:
    return ToolFailed(
        f"The result would exceed {MAX_RESULT} characters: process less text at a time",
        code="result_too_large",
    )


def _matches(compiled: Any, text: str, monotonic: Monotonic) -> Iterator[Any]:
    if compiled.programsize * len(text) > _MAX_WORK:
        raise _too_costly()
    until = monotonic() + _SECONDS
    for match in compiled.finditer(text):
        # A search over the whole rest of the text may start at every character.
        if monotonic() > until:
            raise _too_costly()
        yield match


def _compiled(pattern: str, *, ignore_case: bool) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ToolFailed(
            f"pattern is not valid RE2 syntax ({shown}); look-around and \\1 are not supported",
            code="bad_pattern",
        ) from None


def _too_costly() -> ToolFailed:
    return ToolFailed(
        "pattern takes too long on this text: simplify it or use less text",
        code="pattern_too_costly",
    )


@dataclass(frozen=True, slots=True)
class _PatternGroup:
    key: int | str


def _template(replacement: str, compiled: Any) -> list[str | _PatternGroup]:
    parts: list[str | _PatternGroup] = []
    last = 0
    for escape in _ESCAPE.finditer(replacement):
        parts.append(replacement[last : escape.start()])
        parts.append(_escaped(escape, compiled))
        last = escape.end()
    return [*parts, replacement[last:]]


def _escaped(escape: re.Match[str], compiled: Any) -> str | _PatternGroup:
    body, name = escape[1], escape[2]
    if body in _KEPT:
        return _KEPT[body]
    number = body if name is None else name
    if number.isascii() and number.isdigit():
        if int(number) <= compiled.groups:
            return _PatternGroup(int(number))
    elif name is not None and name in compiled.groupindex:
        return _PatternGroup(name)
    raise ToolFailed(
        f"replacement: {escape[0]!r} is not a group of pattern; write \\\\ for a backslash",
        code="bad_replacement",
    )


def _filled(part: str | _PatternGroup, match: Any) -> str:
    return part if isinstance(part, str) else match.group(part.key) or ""
