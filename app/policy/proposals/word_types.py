"""The narrowest kind of word that holds for several observed words."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Collection

from app.policy.rules.definition import TypedWord
from app.policy.rules.typed_words import TypedPattern, WordType

_FOLDER = re.compile(r"^.*/", re.DOTALL)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{0,7})+$")
_FILE = re.compile(r"/|\.[A-Za-z][A-Za-z0-9]{0,7}$")
_HOST = re.compile(r"^https?://[A-Za-z0-9.\-]+(?::[0-9]{1,5})?/")
_BRANCH_PART = re.compile(r"^.*[/-]", re.DOTALL)
_DIGITS = "0123456789"
_NAMES_BRANCHES = frozenset({"git", "gh", "glab", "hub"})

Guess = Callable[[Collection[str]], TypedWord | None]


def narrowest(words: Collection[str], program: str) -> TypedWord | None:
    """Return the narrowest kind that all the words have; None if there is none.

    Args:
        words: at least two different words.
        program: name of the program; only some take names of branches.
    """
    for guess in _GUESSES:
        found = guess(words)
        if found is not None and _holds(found, words):
            return found
    if program.rsplit("/", 1)[-1] in _NAMES_BRANCHES:
        found = _branch(words)
        return found if found is not None and _holds(found, words) else None
    return None


def _holds(found: TypedWord, words: Collection[str]) -> bool:
    pattern = TypedPattern(found.type, found.begins, found.ends)
    return all(map(pattern.matches, words))


def _number(words: Collection[str]) -> TypedWord | None:
    begins = _common(words).rstrip(_DIGITS)
    tails = [word[len(begins) :][::-1] for word in words]
    return _typed("number", begins, _common(tails)[::-1].lstrip(_DIGITS))


def _version(words: Collection[str]) -> TypedWord | None:
    begins = _common(words).rstrip(_DIGITS + ".")
    if begins.endswith("v") and not begins[-2:-1].isalnum():
        begins = begins[:-1]
    suffixes = {found[0] if (found := _SUFFIXES.search(word)) else "" for word in words}
    return _typed("version", begins, suffixes.pop() if len(suffixes) == 1 else "")


def _path(words: Collection[str]) -> TypedWord | None:
    if not all(_FILE.search(word) for word in words) or any("://" in word for word in words):
        return None
    folder = _FOLDER.match(_common(words))
    suffixes = {found[0] if (found := _SUFFIX.search(word)) else "" for word in words}
    return _typed("path", folder[0] if folder else "", suffixes.pop() if len(suffixes) == 1 else "")


def _url(words: Collection[str]) -> TypedWord | None:
    hosts = {found[0] if (found := _HOST.match(word)) else "" for word in words}
    folder = _FOLDER.match(_common(words))
    if len(hosts) != 1 or "" in hosts or folder is None:
        return None
    return _typed("url", folder[0], "")


def _branch(words: Collection[str]) -> TypedWord | None:
    part = _BRANCH_PART.match(_common(words))
    return _typed("branch", part[0] if part else "", "")


_GUESSES: tuple[Guess, ...] = (
    _number,
    _version,
    _url,
    _path,
)


def _common(words: Collection[str]) -> str:
    # Of the characters, not of the folders.
    return os.path.commonprefix(list(words))  # noqa: RUF071


def _typed(kind: WordType, begins: str, ends: str) -> TypedWord | None:
    given = (
        {"type": kind} | ({"begins": begins} if begins else {}) | ({"ends": ends} if ends else {})
    )
    try:
        return TypedWord.model_validate(given)
    except ValueError:
        return None
