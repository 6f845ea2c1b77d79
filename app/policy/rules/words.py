"""Matching of word patterns against a command's words, with results no, maybe, yes.

`certain` is the exact matching of allow rules. `loose` is that of deny and ask rules: spellings
equivalent for most programs match too, and a word known only at run time may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache

from app.policy.rules.globs import GLOBBED, is_wider, overlaps
from app.policy.rules.typed_words import TypedPattern


class WordMatch(IntEnum):
    NO = 0
    MAYBE = 1
    YES = 2


NO, MAYBE, YES = WordMatch
REST = "..."
# Words beyond this position are not inspected: they may be anything.
MAX_WORDS = 4_000
_CLUSTER = re.compile(r"-[A-Za-z0-9]{2,5}")
_SHORT = re.compile(r"-[A-Za-z0-9]")
_ABBREVIATED = 4
_MAX_COMPARED = 400


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob over plain text: `*` matches any characters."""
    return re.compile(translate(pattern))


@dataclass(frozen=True, slots=True)
class PatternWord:
    """Position of a pattern: any of some literals or globs, or (`rest`) any words.

    Attributes:
        texts: the globs as written.
        typed: a word of a kind, in rules that allow.
    """

    literals: frozenset[str] = frozenset()
    globs: tuple[re.Pattern[str], ...] = ()
    rest: bool = False
    texts: tuple[str, ...] = ()
    typed: TypedPattern | None = None

    @property
    def is_option(self) -> bool:
        return any(literal.startswith("-") for literal in self.literals) or any(
            item.pattern.startswith(("(?s:\\-", "(?s:-")) for item in self.globs
        )

    def certain(self, word: str) -> WordMatch:
        if word in self.literals or any(item.match(word) for item in self.globs):
            return YES
        return NO

    def covers(self, word: str) -> WordMatch:
        """Match like an allow rule: every expansion of a glob in the word must match."""
        if self.typed is not None:
            return YES if self.typed.matches(word) else NO
        if word in self.literals:
            return YES
        named = zip(self.globs, self.texts, strict=True)
        found = any(item.match(word) and not is_wider(word, text) for item, text in named)
        return YES if found else NO

    def loose(self, word: str) -> WordMatch:
        if self.certain(word):
            return YES
        if GLOBBED.search(word) and self._may_be(word):
            return MAYBE
        if not word.startswith("-"):
            return NO
        name, equals, _ = word.partition("=")
        if equals and self.certain(name):
            return YES
        if _CLUSTER.fullmatch(word) and any(
            _SHORT.fullmatch(literal) and literal[1] in word[1:] for literal in self.literals
        ):
            return YES
        shortened = name.startswith("--") and len(name) >= _ABBREVIATED
        if shortened and any(literal.startswith(name) for literal in self.literals):
            return MAYBE
        return NO

    def _may_be(self, word: str) -> bool:
        """Return whether a word with a glob may expand to one of these.

        A word without a leading hyphen does not count as an option, although a file may have such a
        name.
        """
        begun = GLOBBED.split(word, 1)[0]
        is_option = word.startswith("-")
        if any(
            literal.startswith(begun)
            and (is_option or not literal.startswith("-"))
            and glob(word).match(literal)
            for literal in self.literals
        ):
            return True
        return any(_may_meet(word, text) for text in self.texts)


def _may_meet(word: str, text: str) -> bool:
    """Return whether some word matches both globs; of long ones only the beginnings are
    compared.
    """
    begun, other = GLOBBED.split(word, 1)[0], GLOBBED.split(text, 1)[0]
    if not (begun.startswith(other) or other.startswith(begun)):
        return False
    if len(word) * len(text) > _MAX_COMPARED:
        return True
    return overlaps(word.replace("*", "**"), text.replace("*", "**"))


def compile_word(choices: Iterable[str]) -> PatternWord:
    listed = list(choices)
    if listed == [REST]:
        return PatternWord(rest=True)
    texts = tuple(text for text in listed if GLOBBED.search(text))
    return PatternWord(
        frozenset(text for text in listed if not GLOBBED.search(text)),
        tuple(map(glob, texts)),
        texts=texts,
    )


def match_words(
    pattern: Sequence[PatternWord], words: Sequence[str | None], *, certain: bool = False
) -> WordMatch:
    """Match the whole pattern against all of the words."""
    states = _skip_rest(pattern, [YES] + [NO] * len(pattern))
    for word in words:
        following = [NO] * (len(pattern) + 1)
        best = NO
        for at, state in enumerate(states):
            best = max(best, state)
            if word is None and not certain:
                # It may expand to no word, one or many.
                following[at] = max(following[at], min(best, MAYBE))
            if not state or at == len(pattern):
                continue
            item = pattern[at]
            if item.rest:
                following[at] = max(following[at], NO if certain and word is None else state)
            elif word is not None:
                found = item.covers(word) if certain else item.loose(word)
                following[at + 1] = max(following[at + 1], min(state, found))
        if not any(following):
            return NO
        states = _skip_rest(pattern, following)
    return states[-1]


def _skip_rest(pattern: Sequence[PatternWord], states: list[WordMatch]) -> list[WordMatch]:
    for at, item in enumerate(pattern):
        if item.rest:
            states[at + 1] = max(states[at + 1], states[at])
    return states
