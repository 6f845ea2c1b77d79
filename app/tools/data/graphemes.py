"""User-perceived characters: a letter with its marks, a flag, a family of emoji.

The pieces are Unicode's extended grapheme clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

# Bounds a cluster, even with an unlimited number of stacked marks.
_MAX_CLUSTER = 64


def graphemes(text: str) -> Iterator[str]:
    """Yield the inseparable pieces of `text`; joined, they are `text`."""
    for match in _cluster().finditer(text):
        cluster = match[0]
        for at in range(0, len(cluster), _MAX_CLUSTER):
            yield cluster[at : at + _MAX_CLUSTER]


@cache
def _cluster() -> regex.Pattern[str]:
    # Imported here: it takes ten milliseconds, and few calls need it.
    import regex

    return regex.compile(r"\X")
