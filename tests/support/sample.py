"""How much of an exhaustive test one run makes: all of it in CI, a part at a desk."""

from collections.abc import Sequence
from typing import TypeVar

from tests.support.binaries import in_ci

T = TypeVar("T")


def share(items: Sequence[T], *, every: int, start: int = 0) -> list[T]:
    """Return all items in CI, otherwise every n-th of them.

    Args:
        every: how many items stand for one.
        start: shifts the choice, so that rows of a matrix take different columns.
    """
    return list(items) if in_ci() else list(items[start % every :: every])
