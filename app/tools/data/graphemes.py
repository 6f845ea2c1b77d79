"""Characters as people see them: a letter with its marks, a flag, a family of emoji.

The pieces are Unicode's extended grapheme clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

# A cluster has an end even where somebody stacks marks without end.
_MAX_CLUSTER = 64


def graphemes(text: str) -> Iterator[str]:
    """The pieces of `text` that must not be torn apart; joined, they are `text`."""
    for match in _cluster().finditer(text):
        cluster = match[0]
        for at in range(0, len(cluster), _MAX_CLUSTER):
            yield cluster[at : at + _MAX_CLUSTER]


@cache
def _cluster() -> regex.Pattern[str]:
    # Ten milliseconds of a start that few calls need.
    import regex

    return regex.compile(r"\X")
