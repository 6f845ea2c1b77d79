"""Text → the words by which it is found: one way for storing and for asking.

A full-text index of spaces and letters finds nothing in Chinese. So the words are cut here
and handed over as ASCII, separated by spaces, for whatever index there is: runs of Chinese,
Japanese and Korean characters as each character and each pair of neighbours, everything else
as words without case and accents, each followed by its stem. What is not ASCII is written as
the numbers of its characters; that and stems begin with `_`, which no word does. Of
`caching 缓存` that is `caching _cach _32531 _32531_23384 _23384`.

A character alone stands before the pair that it begins, so the words of any piece of a text
stand side by side in the words of the whole: a phrase is found as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from app.knowledge.memory.stems import stem_of

MAX_WORD_CHARS = 64
"Maximum length of a word in stored texts and in searches."

_IDEOGRAPHS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
_END_OF_LATIN = "\u0250"
"Accents on preceding letters that are ignored; on others they make a different word."
_MARKS = re.compile(rf"([^\w\s{_PICTURES}]{{32}})[^\w\s{_PICTURES}]+")
_PIECES = re.compile(rf"([{_IDEOGRAPHS}]+)|([^\W_{_IDEOGRAPHS}]+)|([{_PICTURES}])")


def words_of(text: str) -> list[str]:
    """Every word of `text`, in its order, as ASCII letters, digits and `_`."""
    return [word for piece in pieces_of(text) for word in piece.stored()]


class Piece:
    """A run of one kind: ideographs, a word, or one picture (such as an emoji).

    Attributes:
        end: where it ends in the normalised text.
    """

    __slots__ = ("_characters", "_is_run", "end")

    def __init__(self, characters: str, *, is_run: bool, end: int) -> None:
        self._characters = characters
        self._is_run = is_run
        self.end = end

    @property
    def is_run(self) -> bool:
        """It is made of ideographs, so that nobody knows where its words begin."""
        return self._is_run

    def stored(self) -> Iterator[str]:
        """The words under which it is kept."""
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
        """The word by whose beginning it is looked for."""
        return _ascii(self._characters)

    def asked(self) -> Iterator[str]:
        """The words that look for it: a pair says more than its two characters."""
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
    """The pieces of a text that `normalised` has seen or will not change."""
    for found in _PIECES.finditer(normalised(text)):
        run, word, picture = found.groups()
        if run:
            yield Piece(run, is_run=True, end=found.end())
        else:
            yield Piece((word or picture)[:MAX_WORD_CHARS], is_run=False, end=found.end())


def normalised(text: str) -> str:
    """One form of all that reads the same: full width, case, accents."""
    if text.isascii():
        return text.casefold()
    # Putting marks in order takes the square of how many follow each other.
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
    """A word as itself, or by the numbers of its characters: every index takes that whole."""
    return word if word.isascii() else "".join(f"_{ord(character)}" for character in word)
