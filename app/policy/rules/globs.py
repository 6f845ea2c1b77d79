"""Words with shell globs: what a pattern can say about unknown names.

A quoted `*` is a name, and looks the same in the words of a command; it is treated as a glob.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

GLOBBED = re.compile(r"[*?\[]")
# In a pattern these match one character, which may be the `*` of a word.
_ONE_CHARACTER = re.compile(r"\?|\[[!^]")
_MAX_COMPARED = 20_000


def is_wider(word: str, pattern: str) -> bool:
    """Return whether a word matched as text may expand to one that the pattern does not match.

    A word's `*` is covered by the pattern's `*`, while `build/?` only matches `build/*` by its
    letters.
    """
    return word != pattern and bool(GLOBBED.search(word) and _ONE_CHARACTER.search(pattern))


@lru_cache(maxsize=2048)
def overlaps(left: str, right: str) -> bool:
    """Return whether some path may match both globs; True if it takes too long to determine."""
    begun, other = GLOBBED.split(left, 1)[0], GLOBBED.split(right, 1)[0]
    if not (begun.startswith(other) or other.removesuffix("/").startswith(begun)):
        return False
    one, two = _tokens(left), _tokens(right)
    if len(one) * len(two) > _MAX_COMPARED:
        return True
    reached, front = {(0, 0)}, [(0, 0)]
    while front:
        i, j = front.pop()
        if i == len(one) and j == len(two):
            return True
        for step in _steps(one, two, i, j):
            if step not in reached:
                reached.add(step)
                front.append(step)
    return False


def _steps(one: list[str], two: list[str], i: int, j: int) -> Iterator[tuple[int, int]]:
    a = one[i] if i < len(one) else ""
    b = two[j] if j < len(two) else ""
    if a in {"*", "**"}:
        yield i + 1, j
        if b and (a == "**" or b != "/"):
            yield i, j + 1
    if b in {"*", "**"}:
        yield i, j + 1
        if a and (b == "**" or a != "/"):
            yield i + 1, j
    if a and b and (a == b or ("?" in {a, b} and "/" not in {a, b})):
        yield i + 1, j + 1


def _tokens(pattern: str) -> list[str]:
    return [
        # Wider than exact: `**/` may match nothing, including the slash.
        "**"
        if token.startswith("**")
        else "?"
        if token.startswith("[") and len(token) > 1
        else token
        for token in re.findall(r"\*\*/?|\[[^\]]+\]|.", pattern[:400], re.DOTALL)
    ]
