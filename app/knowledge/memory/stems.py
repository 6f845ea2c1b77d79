"""Stems of English words, so that `deploys`, `deployed` and `deployment` are equal.

Stems need not be linguistically correct: they must be equal for stored and searched text, and not
merge unrelated words.
"""

from __future__ import annotations

import re

_VOWEL = re.compile(r"[aeiouy]")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_SHORTEST = 4


def stem_of(word: str) -> str:
    """Return the stem of a lower-case word; a word with other characters than a-z is unchanged."""
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    return _bare(_without_suffix(_without_flexion(_singular(word))))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > _SHORTEST:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_flexion(word: str) -> str:
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):
            return rest[:-1] if _DOUBLED.search(rest) else rest
    return word


def _without_suffix(word: str) -> str:
    for ending, least in (("ment", 5), ("ation", 5), ("ly", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word.removesuffix(ending)
    if word.endswith(("tion", "sion")) and len(word) > 6:
        return word.removesuffix("ion")
    return word


def _bare(word: str) -> str:
    """Remove changes before an ending: `cache` and `caching`, `retry` and `retried`."""
    if word.endswith("e") and len(word) >= _SHORTEST:
        return word[:-1]
    if word.endswith("y") and len(word) >= _SHORTEST and not _VOWEL.match(word[-2]):
        return f"{word[:-1]}i"
    return word
