"""Expansion of words as far as known; UNKNOWN marks the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise, starmap
from typing import Protocol

from app.policy.risk.call import SECRET, UNKNOWN, unknown
from app.policy.risk.scope import ShellScope
from app.policy.risk.secrets import is_secret_name
from app.policy.risk.syntax import Arith, Cmd, Lit, Part, Proc, Script, Var, Word

_HOLE = 0xE000
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_RANGE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])(?:\.\.(-?\d+))?")
_SLICE = re.compile(r"([1-9]\d{0,3})(?::(\d{1,3}))?", re.ASCII)
_PADDED = re.compile(r"-?0\d")
_SPLIT = (Var, Cmd)
"""Parts whose value is split into several words if unquoted."""
_MAX_BRACES = 512
_MAX_TEXT = 64_000
_MAX_PARTS = 6_000


class CommandRunner(Protocol):
    """Runner of the commands in words, in the scope of the word."""

    def substitute(self, body: Script, scope: ShellScope) -> str:
        """Run `$(…)` and return its output."""

    def process(self, part: Proc, scope: ShellScope) -> str:
        """Run `<(…)` and return its path."""

    def arithmetic(self, parts: Sequence[Part], scope: ShellScope) -> None:
        """Evaluate the parts of an arithmetic expression."""


@dataclass(slots=True)
class Expander:
    scope: ShellScope
    runner: CommandRunner

    def fields(self, word: Word) -> list[str]:
        """Return the words that `word` expands to."""
        first = word[0] if len(word) == 1 else None
        if type(first) is Lit:
            text = first.text
            if first.quoted or ("{" not in text and "~" not in text):
                return [text]
        elif isinstance(first, _SPLIT) and first.quoted and not self.scope.guess:
            words = self._arguments(first)
            return [self.text(word)] if words is None else words
        for part in word:
            if type(part) is Lit and not part.quoted and "{" in part.text:
                split = [self._split(_tilde(braced, self.scope)) for braced in _braces(word)]
                return [field for fields in split for field in fields]
        return self._split(_tilde(word, self.scope))

    def text(self, word: Sequence[Part]) -> str:
        """Return the value of `word` without splitting: assignments, redirects, here-documents."""
        word = _tilde(word, self.scope)
        value = self._value(word[0]) if len(word) == 1 else "".join(map(self._value, word))
        return value if len(value) <= _MAX_TEXT else unknown(value)

    def _split(self, word: Sequence[Part]) -> list[str]:
        found: list[str] = []
        current: str | None = None
        size = 0
        guess = self.scope.guess
        for part in word:
            words = self._arguments(part)
            if words is None and guess:
                words = self._words(part)
            value = self._value(part) if words is None else " ".join(words)
            size += len(value)
            if size > _MAX_TEXT:
                return [UNKNOWN]
            if words is not None or (isinstance(part, _SPLIT) and not part.quoted):
                pieces = words or self._pieces(value)
                if len(pieces) == 1:
                    current = (current or "") + pieces[0] if pieces[0] else current
                    continue
                for piece in pieces[:-1]:
                    current = (current or "") + piece
                    if current:
                        found.append(current)
                    current = None
                current = pieces[-1] or None
            else:
                current = (current or "") + value
        return found if current is None else [*found, current]

    def _arguments(self, part: Part) -> list[str] | None:
        """Return the words of `"$@"` and `"${@:2}"`, if the arguments are certain."""
        given = self.scope.given
        if given is None or type(part) is not Var or part.name != "@" or not part.quoted:
            return None
        if UNKNOWN in self.scope.lookup("@"):
            return None
        return list(given) if not part.op else _sliced(given, part)

    def _words(self, part: Part) -> list[str] | None:
        """Return the words of `"$@"` or `"${name[@]}"`."""
        if not isinstance(part, Var) or part.op not in {"", "["}:
            return None
        name = "@" if part.name in {"@", "*"} and not part.op else part.name
        if part.op and [piece.text for piece in part.arg if isinstance(piece, Lit)] not in (
            ["@"],
            ["*"],
        ):
            return None
        if name not in self.scope.lists or (not part.op and name != "@"):
            return None
        return list(self.scope.lists[name])

    def _pieces(self, value: str) -> list[str]:
        separators = self.scope.lookup("IFS")
        if value == UNKNOWN or UNKNOWN in separators:
            return [unknown(value)]
        return _separator(separators).split(value) if separators else [value]

    def _value(self, part: Part) -> str:
        match part:
            case Lit():
                return part.text
            case Var():
                return self._variable(part)
            case Cmd():
                return self.runner.substitute(part.script, self.scope)
            case Proc():
                return self.runner.process(part, self.scope)
            case Arith():
                self.runner.arithmetic(part.parts, self.scope)
                return UNKNOWN

    def _variable(self, part: Var) -> str:
        value = self.scope.lookup(part.name)
        if not part.op:
            return value
        if part.name in {"@", "*"} and not self.scope.guess:
            # The operation after the name applies to each word.
            value = unknown(value)
        if part.op in {"[", "#", "!"}:
            return self._indexed(part, value)
        if part.op == "@" and [piece.text for piece in part.arg if isinstance(piece, Lit)] == ["P"]:
            for held in (value, *self.scope.possible(part.name)):
                self.runner.arithmetic([Lit(held, quoted=True)], self.scope)
        arg = "".join(self._value(piece) for piece in part.arg)
        if part.op in {":-", "-", ":=", "="}:
            return self._default(part, value, arg)
        is_given = bool(value) or (part.op == "+" and self.scope.is_set(part.name))
        if part.op in {":+", "+"} and is_given and (UNKNOWN not in value or arg.startswith("-")):
            return arg
        if part.op in {":?", "?"} and value and UNKNOWN not in value:
            return value
        if UNKNOWN in value or UNKNOWN in arg:
            # Whether it is set says nothing about its value.
            return unknown(arg) if part.op in {":+", "+"} else unknown(value, arg)
        return _edited(value, part.op, arg)

    def _indexed(self, part: Var, value: str) -> str:
        """Expand `${x[1]}`, `${#x}`, `${!x}`."""
        self.runner.arithmetic(part.arg, self.scope)
        if part.op == "!":
            return SECRET if is_secret_name(value) else UNKNOWN
        if part.op == "#":
            return UNKNOWN  # The length of a secret is not secret.
        listed = self._element(part) if self.scope.guess else None
        return unknown(value) if listed is None else listed

    def _element(self, part: Var) -> str | None:
        words = self.scope.lists.get(part.name)
        index = "".join(piece.text for piece in part.arg if isinstance(piece, Lit))
        if words is None or not index.isdigit():
            return None if words is None or index not in {"@", "*"} else " ".join(words)
        return words[int(index)] if int(index) < len(words) else ""

    def _default(self, part: Var, value: str, arg: str) -> str:
        """Expand a default; a default that is an option counts as given, since an unknown word
        could hide it.
        """
        if UNKNOWN in value and arg.startswith("-"):
            return arg
        if part.op.endswith("="):
            self.scope.forget([part.name])
        if UNKNOWN in value:
            return unknown(value, arg)
        # Without the colon, an empty value counts as set.
        is_given = bool(value) or (part.op[0] != ":" and self.scope.is_set(part.name))
        return value if is_given else arg


def _sliced(words: Sequence[str], part: Var) -> list[str] | None:
    """Expand `"${@:2}"`, `"${@:1:2}"`; None: another expansion of all arguments."""
    text = "".join([piece.text if isinstance(piece, Lit) else UNKNOWN for piece in part.arg])
    found = _SLICE.fullmatch(text) if part.op == ":" else None
    if found is None:
        return None
    start = int(found[1]) - 1
    return list(words[start : start + int(found[2])] if found[2] else words[start:])


def _edited(value: str, op: str, arg: str) -> str:
    """Apply `${x,,}`, `${x^^}`, `${x:1:2}`, `${x/a/b}` to known text; other edits are unknown."""
    if op in {",,", "^^"} and not arg:
        return value.lower() if op == ",," else value.upper()
    if op == ":" and (match := re.fullmatch(r"\s*(\d+)(?::(\d+))?", arg)):
        start = int(match.group(1))
        return (
            value[start:] if match.group(2) is None else value[start : start + int(match.group(2))]
        )
    if op in {"#", "##", "%", "%%"}:
        return _trimmed(value, op, arg)
    old, slash, new = arg.partition("/")
    plain = not any(char in old for char in "*?[\\#%")
    if op in {"/", "//"} and old and plain and (slash or not new):
        return value.replace(old, new, 1 if op == "/" else -1)
    return UNKNOWN


def _trimmed(value: str, op: str, pattern: str) -> str:
    """Apply `${x#a}` and its variants, for patterns of plain text and `*` or `?`."""
    if any(char in pattern for char in "[\\(") or len(value) > 4096:
        return UNKNOWN
    lengths = range(len(value) + 1)
    for length in lengths if len(op) == 1 else reversed(lengths):
        piece = value[:length] if op[0] == "#" else value[len(value) - length :]
        if fnmatchcase(piece, pattern):
            return value[length:] if op[0] == "#" else value[: len(value) - length]
    return value


def _tilde(word: Sequence[Part], scope: ShellScope) -> Sequence[Part]:
    first = word[0] if word else None
    if type(first) is not Lit or first.quoted or first.text[:1] != "~":
        return word
    user, slash, rest = first.text[1:].partition("/")
    if len(word) > 1 and not slash:
        return word
    if user in {"", "+"}:
        base = scope.home if not user else scope.lookup("PWD")
    else:
        base = "/root" if user == "root" else UNKNOWN if user == "-" else f"/home/{user}"
    return [Lit(base + slash + rest, quoted=True), *word[1:]]


@lru_cache(maxsize=16)
def _separator(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(characters)}]+")


def _braces(word: Word) -> Iterator[Word]:
    pattern = "".join(
        part.text if isinstance(part, Lit) and not part.quoted else chr(_HOLE + at)
        for at, part in enumerate(word[:_MAX_PARTS])
    )
    if len(word) > _MAX_PARTS or any(
        isinstance(part, Lit) and _PRIVATE.search(part.text) for part in word
    ):
        yield _RESOLVED_LATER
        return
    budget = [_MAX_BRACES]
    for text in _brace_texts(pattern, budget):
        pieces = re.split("([\ue000-\uf8ff])", text)
        parts = [
            word[ord(piece) - _HOLE] if at % 2 else Lit(piece)
            for at, piece in enumerate(pieces)
            if piece and (at % 2 == 0 or ord(piece) - _HOLE < len(word))
        ]
        yield _RESOLVED_LATER if any(starmap(_is_longer_name, pairwise(parts))) else parts


_RESOLVED_LATER: Word = [Lit(UNKNOWN, quoted=True)]
_GOES_ON = re.compile(r"\w", re.ASCII)


def _is_longer_name(part: Part, following: Part) -> bool:
    """Return whether braces append letters to a name: `$c{a,b}` is `$ca $cb`."""
    if not isinstance(part, Var) or part.quoted or part.op:
        return False
    return (
        isinstance(following, Lit) and not following.quoted and bool(_GOES_ON.match(following.text))
    )


def _brace_texts(pattern: str, budget: list[int]) -> list[str]:
    if pattern.count("{") > _MAX_BRACES // 4:
        return [UNKNOWN]
    start = pattern.find("{")
    while start >= 0:
        items, end = _brace_items(pattern, start)
        if items:
            budget[0] -= len(items)
            if budget[0] < 0:
                return [UNKNOWN]
            head = pattern[:start]
            tails = _brace_texts(pattern[end:], budget)
            inner = [text for item in items for text in _brace_texts(item, budget)]
            if len(inner) * len(tails) > _MAX_BRACES:
                return [UNKNOWN]
            return [head + middle + tail for middle in inner for tail in tails]
        start = pattern.find("{", start + 1)
    return [pattern]


def _brace_items(pattern: str, start: int) -> tuple[list[str], int]:
    depth, piece, items = 0, start + 1, []
    for at in range(start, len(pattern)):
        char = pattern[at]
        if char == "{":
            depth += 1
        elif char == "," and depth == 1:
            items.append(pattern[piece:at])
            piece = at + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                last = pattern[piece:at]
                return ([*items, last] if items else _brace_range(last)), at + 1
    return [], start


def _brace_range(text: str) -> list[str]:
    match = _RANGE.fullmatch(text)
    if not match:
        return []
    low, high, step = match.groups()
    if low.lstrip("-").isdigit() != high.lstrip("-").isdigit() or len(low + high) > 12:
        return []
    numeric = low.lstrip("-").isdigit()
    first, last = (int(low), int(high)) if numeric else (ord(low), ord(high))
    by = (abs(int(step or 1)) or 1) * (1 if first <= last else -1)
    numbers = range(first, last + (1 if by > 0 else -1), by)
    if len(numbers) > _MAX_BRACES:
        return [UNKNOWN]
    if not numeric:
        return [chr(number) for number in numbers]
    padded = any(_PADDED.match(end) for end in (low, high))
    width = max(len(low), len(high)) if padded else 0
    return [f"{number:0{width}d}" for number in numbers]
