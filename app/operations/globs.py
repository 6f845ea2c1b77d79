"""Glob patterns of `find` and `grep`, matched in linear time by RE2."""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

from app.core.errors import ToolFailed

Matches = Callable[[str], bool]
_MATCH_ALL = frozenset({"*", "**", "**/*"})
_SUFFIX = re.compile(r"(?:\*\*/)?\*(\.[\w.-]+)")
_MAX_PATTERN = 1000
_MAX_BRACE_DEPTH = 8


def compile_glob(pattern: str, *, case_insensitive: bool = False) -> Matches:
    """Return a test for relative paths such as `src/main.py`.

    `*` and `?` stay inside one name, `**` spans folders, `[a-z]`, `[!a]` and `{a,b}` work.
    A pattern without `/` is matched against the name at any depth. A leading `!`
    inverts it (`\\!` for a name that begins with one).

    Raises:
        ToolFailed: code `invalid_pattern`.
    """
    if len(pattern) > _MAX_PATTERN:
        raise _invalid(pattern, f"it is longer than {_MAX_PATTERN} characters")
    if not pattern.startswith("!"):
        return _matches(pattern, case_insensitive=case_insensitive)
    unwanted = _matches(pattern[1:], case_insensitive=case_insensitive)
    return lambda path: not unwanted(path)


def _matches(pattern: str, *, case_insensitive: bool) -> Matches:
    pattern = pattern.removeprefix("./")
    if pattern in _MATCH_ALL:
        return lambda _path: True
    suffix = _SUFFIX.fullmatch(pattern)
    if suffix and not case_insensitive:
        ending = suffix[1]
        return lambda path: path.endswith(ending)
    regex = _regex(pattern, case_insensitive=case_insensitive)
    if "/" in pattern:
        return lambda path: regex.fullmatch(_bytes(path)) is not None
    return lambda path: regex.fullmatch(_bytes(path.rpartition("/")[2])) is not None


def _bytes(path: str) -> bytes:
    # names that are not UTF-8 contain lone surrogates, which RE2 does not support
    return path.encode("utf-8", "replace")


def _regex(pattern: str, *, case_insensitive: bool) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not case_insensitive
    options.dot_nl = True
    try:
        return re2.compile(_Translator(pattern).translate().encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise _invalid(pattern, "it is not a valid glob") from error


def _invalid(pattern: str, reason: str) -> ToolFailed:
    shown = pattern[:80].encode("utf-8", "replace").decode()
    return ToolFailed(
        f"Invalid glob {shown!r}: {reason}", code="invalid_pattern", pattern=shown, reason=reason
    )


class _Translator:
    """Translation of a glob to a regular expression in one pass."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._braces = 0

    def translate(self) -> str:
        out: list[str] = []
        while self._at < len(self._pattern):
            out.append(self._next())
        if self._braces:
            raise _invalid(self._pattern, "a '{' is not closed")
        return "".join(out)

    def _next(self) -> str:
        char = self._pattern[self._at]
        self._at += 1
        if char == "*":
            return self._star()
        if char == "?":
            return "[^/]"
        if char == "[":
            return self._char_class()
        if char == "\\" and self._at < len(self._pattern):
            self._at += 1
            return re.escape(self._pattern[self._at - 1])
        return self._brace(char)

    def _star(self) -> str:
        rest = self._pattern[self._at :]
        if not rest.startswith("*"):
            return "[^/]*"
        at_start = self._at == 1 or self._pattern[self._at - 2] in "/{,"
        self._at += 1
        if at_start and rest.startswith("*/"):
            self._at += 1
            return "(?:.*/)?"
        return ".*"

    def _char_class(self) -> str:
        start = self._at
        negated = self._pattern[start : start + 1] in ("!", "^")
        body_from = start + 1 if negated else start
        end = self._pattern.find("]", body_from + 1)
        if end < 0:
            raise _invalid(self._pattern, f"the '[' at position {start} is not closed")
        self._at = end + 1
        body = self._pattern[body_from:end].replace("\\", r"\\").replace("[", r"\[")
        body = body.replace("]", r"\]").replace("^", r"\^")
        return f"[^/{body}]" if negated else f"[{body}]"

    def _brace(self, char: str) -> str:
        if char == "{":
            self._braces += 1
            if self._braces > _MAX_BRACE_DEPTH:
                raise _invalid(self._pattern, "braces are nested too deeply")
            return "(?:"
        if self._braces and char == "}":
            self._braces -= 1
            return ")"
        if self._braces and char == ",":
            return "|"
        return re.escape(char)
