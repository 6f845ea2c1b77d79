"""Parser of cmd and PowerShell: text to its commands, with script blocks split.

It does not track variables: a word that contains one is unknown. The two shells differ in quotes,
escapes and separators, so each has separate tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.policy.risk.call import UNKNOWN

_POWERSHELL = re.compile(
    r"(?P<comment><\#.*?\#>|(?<![^\s;(){}|])\#[^\n]*)|"
    r"(?P<block>[{}()])|(?P<sep>&&|\|\||[;|\n]|&(?!\d))"
    r"|(?P<space>[ \t]+|`\n)|(?P<word>(?:\"(?:[^\"`]|`.|\"\")*\"|'(?:[^']|'')*'|"
    r"`.|\$\{[\w:]+\}|@\(\s*(?:'[^']*'|\"[^\"$`]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"$`]*\"))*\s*\)|\$\((?=[^()]*$)|\$(?=\()|\d?>>?(?:&\d)?|[^\s;|&(){}\"'`])+)",
    re.DOTALL,
)
_CMD = re.compile(
    r"(?P<comment>(?!))|(?P<block>[{}()])|(?P<sep>&&|\|\||[|\n]|&(?!\d))"
    r"|(?P<space>[ \t;]+|\^\n)|(?P<word>(?:\"[^\"\n]*\"?|\^.|\d?>>?(?:&\d)?|[^\s;|&(){}\"^])+)",
    re.DOTALL,
)
_HERE = re.compile(r"@(['\"])[ \t]*\n")
_KEY = re.compile(r"[\w-]+=(['\"])")
"""Key of a table entry with the text after it: `@{name='value'}`."""
_UNSET = re.compile(r"[$%!]\w|\$[{(]")


@dataclass(frozen=True, slots=True)
class PowerShellWord:
    """`quote` is the quote around the whole word, if any."""

    text: str
    quote: str = ""

    @property
    def known(self) -> bool:
        return self.quote == "'" or not _UNSET.search(self.text)


@dataclass(frozen=True, slots=True)
class PowerShellCommand:
    """`called`: after `&` or `.`, so that a quoted first word is a command too.

    `piped`: it reads another command's output.
    """

    words: tuple[PowerShellWord, ...]
    called: bool = False
    piped: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    @property
    def argv(self) -> list[str]:
        """Return words for a segment, with UNKNOWN for unknown ones."""
        return [word.text if word.known else UNKNOWN for word in self.words]


_IGNORED = {True: ("@", ",", "="), False: ("@",)}
"""Characters that cmd, or PowerShell, ignores before a command."""
UNREADABLE = PowerShellCommand((PowerShellWord(UNKNOWN),), called=True)


class PowerShellReader:
    def __init__(self, *, cmd: bool) -> None:
        self.cmd = cmd
        self.words: list[PowerShellWord] = []
        self.called = self.piped = False
        self.unended: set[str] = set()

    def commands(self, text: str) -> Iterator[PowerShellCommand]:
        at, tokens = 0, _CMD if self.cmd else _POWERSHELL
        while at < len(text):
            if text[at] == "@" and (end := self._here_ends(text, at)):
                yield from self._here(text[at:end])
                at = end
                continue
            match = tokens.match(text, at)
            if not match:
                yield UNREADABLE
                return
            at = match.end()
            if word := match.group("word"):
                yield from self._word(word)
            elif separator := match.group("sep") or match.group("block"):
                yield from self._separated(separator)
        yield from self._emitted()

    def _word(self, raw: str) -> Iterator[PowerShellCommand]:
        if not self.cmd and '"' in raw and "$(" in raw:
            yield from _inside(raw)
        if raw in {"$", "@"} or (raw == "$(" and not self.cmd):
            return
        if raw == "." and not self.words and not self.cmd:
            self.called = True
            return
        self.words.append(_bare(raw, cmd=self.cmd))

    def _here_ends(self, text: str, at: int) -> int:
        """Return the end of the here-string that starts at `at`; 0 if none starts there."""
        opened = _HERE.match(text, at)
        if self.cmd or not opened or opened.group(1) in self.unended:
            return 0
        quote = opened.group(1)
        end = text.find(f"\n{quote}@", opened.end() - 1)
        if end < 0:
            self.unended.add(quote)
        return end + 3 if end >= 0 else 0

    def _here(self, here: str) -> Iterator[PowerShellCommand]:
        if here.startswith('@"'):
            yield from _inside(here)
        self.words.append(PowerShellWord(here[2:-2].strip(), here[1]))

    def _separated(self, separator: str) -> Iterator[PowerShellCommand]:
        if separator == "(" and self.called and not self.words:
            yield UNREADABLE
        piped = separator == "|"
        yield from self._emitted()
        self.piped = piped
        self.called = separator == "&" and not self.cmd

    def _emitted(self) -> Iterator[PowerShellCommand]:
        words = _statement(self.words)
        while words and len(words[0].text) > 1 and words[0].text.startswith(_IGNORED[self.cmd]):
            words[0] = PowerShellWord(words[0].text[1:], words[0].quote)
            words = _statement(words)
        if words:
            yield PowerShellCommand(tuple(words), self.called, self.piped)
        self.words, self.called, self.piped = [], False, False


def _inside(raw: str) -> Iterator[PowerShellCommand]:
    """Yield the commands in `$(…)` of a double-quoted word."""
    start = raw.find("$(")
    while start >= 0:
        depth, end = 0, len(raw)
        for at in range(start + 1, len(raw)):
            depth += {"(": 1, ")": -1}.get(raw[at], 0)
            if depth == 0:
                end = at
                break
        yield from PowerShellReader(cmd=False).commands(raw[start + 2 : end])
        start = raw.find("$(", end)


def _statement(words: list[PowerShellWord]) -> list[PowerShellWord]:
    """Remove `if exist x`, `for … do`, `$x =`, `call` before the command."""
    lowered = [word.text.lower() for word in words]
    first = lowered[0] if lowered else ""
    if first == "if":
        return _statement(words[_condition(lowered[1:]) :])
    if first in {"else", "call", "do", "try", "finally", "process", "begin", "end", "return"}:
        return _statement(words[1:])
    if first == "for" and "do" in lowered[:6]:
        return _statement(words[lowered.index("do") + 1 :])
    if len(words) > 1 and first.startswith(("$", "[")) and not words[0].quote:
        return _statement(words[2:]) if re.fullmatch(r"[+-]?=|in", lowered[1]) else words
    return words


def _condition(lowered: list[str]) -> int:
    """Return how many words `if` and its condition take."""
    skip = 1
    while lowered and lowered[0] in {"not", "/i"}:
        lowered, skip = lowered[1:], skip + 1
    if lowered and lowered[0] in {"exist", "defined", "errorlevel"}:
        return skip + 2
    if lowered and "==" in lowered[0]:
        return skip + 1
    return skip + (3 if len(lowered) > 3 else 0)


def _bare(word: str, *, cmd: bool) -> PowerShellWord:
    """Remove quotes and escapes."""
    quotes = '"' if cmd else "'\""
    if len(word) > 1 and word[0] == word[-1] and word[0] in quotes and word[0] not in word[1:-1]:
        return PowerShellWord(word[1:-1], word[0])
    if cmd:
        return PowerShellWord(re.sub(r"\^(.)", r"\1", word, flags=re.DOTALL).replace('"', ""))
    plain = re.sub(r"`(.)", r"\1", word, flags=re.DOTALL)
    if given := _KEY.match(word):
        return PowerShellWord(plain.replace(given[1], ""), given[1])
    return PowerShellWord(plain.replace('"', "").replace("'", ""))
