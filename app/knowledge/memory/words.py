"""Tokenization of texts, identical for storing and searching.

A full-text index based on spaces finds nothing in Chinese. Words are therefore split here and
passed as ASCII, separated by spaces, to any index: runs of Chinese, Japanese and Korean characters
as each character and each adjacent pair, everything else as words without case and accents, each
followed by its stem. Non-ASCII text is written as code points; these and stems begin with `_`,
which no word does. For `caching 缓存` the words are `caching _cach _32531 _32531_23384 _23384`.

A character precedes the pair that it begins, so the words of any part of a text are adjacent in the
words of the whole, and phrases match.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_WORD_CHARS = 64
"""Maximum length of a word in stored texts and in searches."""

_IDEOGRAPHS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
_END_OF_LATIN = "\u0250"
"""Accents on preceding letters that are ignored; on others they make a different word."""
_MARKS = re.compile(rf"([^\w\s{_PICTURES}]{{32}})[^\w\s{_PICTURES}]+")
_PIECES = re.compile(rf"([{_IDEOGRAPHS}]+)|([^\W_{_IDEOGRAPHS}]+)|([{_PICTURES}])")

_VOWEL = re.compile(r"[aeiouy]")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_SHORTEST = 4


def words_of(text: str) -> list[str]:
    """Return every word of `text`, in order, as ASCII letters, digits and `_`."""
    return [word for piece in pieces_of(text) for word in piece.stored()]


class Piece:
    """Run of one kind: ideographs, a word, or one symbol (such as an emoji).

    Attributes:
        end: its end in the normalized text.
    """

    __slots__ = ("_characters", "_is_run", "end")

    def __init__(self, characters: str, *, is_run: bool, end: int) -> None:
        self._characters = characters
        self._is_run = is_run
        self.end = end

    @property
    def is_run(self) -> bool:
        """Return whether it consists of ideographs, without known word boundaries."""
        return self._is_run

    def stored(self) -> Iterator[str]:
        """Yield the words to store."""
        if not self._is_run:
            yield _ascii(self._characters)
            yield f"_{_ascii(stem_of(self._characters))}"
            return
        previous = ""
        for character in self._characters:
            if previous:
                yield _ascii(previous)
                yield _ascii(previous + character)
            previous = character
        yield _ascii(previous)

    def beginning(self) -> str:
        """Return the word for a prefix search."""
        return _ascii(self._characters)

    def asked(self) -> Iterator[str]:
        """Yield the words to search: a pair is more specific than its two characters."""
        characters = self._characters
        if not self._is_run:
            yield f"_{_ascii(stem_of(characters))}"
            return
        if len(characters) == 1:
            yield _ascii(characters)
            return
        for at in range(len(characters) - 1):
            yield _ascii(characters[at : at + 2])


def pieces_of(text: str) -> Iterator[Piece]:
    """Yield the pieces of a normalized text."""
    for found in _PIECES.finditer(normalised(text)):
        run, word, picture = found.groups()
        if run:
            yield Piece(run, is_run=True, end=found.end())
        else:
            yield Piece((word or picture)[:MAX_WORD_CHARS], is_run=False, end=found.end())


def normalised(text: str) -> str:
    """Return one form of equal texts: full width, case, accents."""
    if text.isascii():
        return text.casefold()
    # Ordering marks takes quadratic time in the number of consecutive ones.
    folded = unicodedata.normalize("NFKC", _MARKS.sub(r"\1", text)).casefold()
    kept: list[str] = []
    is_latin = False
    for character in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(character):
            is_latin = character < _END_OF_LATIN
        elif is_latin:
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _ascii(word: str) -> str:
    """Return a word unchanged, or as code points, so that every index treats it as one word."""
    return word if word.isascii() else "".join(f"_{ord(character)}" for character in word)


# Stems of English words, so that `deploys`, `deployed` and `deployment` are equal.
#
# Stems need not be linguistically correct: they must be equal for stored and searched text, and not
# merge unrelated words.


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
