"""Words in which the shell puts names: what a pattern can say of what is not known yet.

A quoted `*` is a name, and looks the same in the words of a command; it is read as a glob.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

GLOBBED = re.compile(r"[*?\[]")
# In a pattern these stand for one character, which may be the `*` of a word.
_ONE_CHARACTER = re.compile(r"\?|\[[!^]")
_MAX_COMPARED = 20_000


def is_wider(word: str, pattern: str) -> bool:
    """Whether a word that a pattern matches as a text may become one that it does not match.

    What stands for `*` in a word are texts that the pattern's `*` stands for too, and
    `build/?` matches `build/*` by its letters alone.
    """
    return word != pattern and bool(GLOBBED.search(word) and _ONE_CHARACTER.search(pattern))


@lru_cache(maxsize=2048)
def overlaps(left: str, right: str) -> bool:
    """Whether some path may match both globs; what takes long to tell may."""
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
        # Wider than it is: `**/` may stand for nothing, and then the slash is gone too.
        "**"
        if token.startswith("**")
        else "?"
        if token.startswith("[") and len(token) > 1
        else token
        for token in re.findall(r"\*\*/?|\[[^\]]+\]|.", pattern[:400], re.DOTALL)
    ]
