"""Characters as people see them: a letter with its marks, a flag, a family of emoji.

A short form of Unicode's rules for grapheme clusters, from the character database that
Python brings: marks, joiners, variation and skin tone selectors, flags, line ends and
Hangul syllables of several letters. Conjuncts of Indic scripts stay in parts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_KEEPS_WITH_PREVIOUS = frozenset({"Mn", "Me", "Mc"})
_MAX_CLUSTER = 64


def graphemes(text: str) -> Iterator[str]:
    """The pieces of `text` that must not be torn apart; joined, they are `text`."""
    start, size = 0, len(text)
    while start < size:
        end = start + 1
        # A cluster has an end even where somebody stacks marks without end.
        while end < size and end - start < _MAX_CLUSTER and _joined(text, start, end):
            end += 1
        yield text[start:end]
        start = end


def _joined(text: str, start: int, at: int) -> bool:
    """Whether the character `at` belongs to the cluster that begins at `start`."""
    before, character = text[at - 1], text[at]
    if before in "\r\n" or character in "\r\n":
        return before == "\r" and character == "\n"
    if character.isascii() or unicodedata.category(before) == "Cc":
        return False
    if before == _JOINER:
        return at - start > 1 and unicodedata.category(character) == "So"
    return (
        _extends(character)
        or (_is_flag(character) and _is_flag(before) and at - start == 1)
        or _same_syllable(before, character)
    )


def _extends(character: str) -> bool:
    return (
        character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or unicodedata.category(character) in _KEEPS_WITH_PREVIOUS
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _same_syllable(before: str, character: str) -> bool:
    lead, vowel, tail = (
        "\u1100" <= before <= "\u115f",
        "\u1160" <= character <= "\u11a7",
        "\u11a8" <= character <= "\u11ff",
    )
    follows_vowel = "\u1160" <= before <= "\u11a7" or "\uac00" <= before <= "\ud7a3"
    follows_tail = "\u11a8" <= before <= "\u11ff"
    again = lead and "\u1100" <= character <= "\u115f"
    return (
        again or (vowel and (lead or follows_vowel)) or (tail and (follows_vowel or follows_tail))
    )
