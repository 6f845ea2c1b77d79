"""Chinese is complete at a release; until then the pages show English for what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterable


def at_release() -> bool:
    """Tell whether a release is checked: CHECK_RELEASE=1."""
    return os.environ.get("CHECK_RELEASE") == "1"


def check_translated(wanted: Iterable[str], translated: Iterable[str]) -> None:
    """Fail on a translation of what does not exist, and at a release on one that is missing."""
    names = set(wanted)
    found = set(translated)
    assert found - names == set(), "translated, but nothing of this name exists"
    if at_release():
        assert names - found == set(), "not translated yet"


def in_order(wanted: Iterable[str], translated: Iterable[str]) -> None:
    """As `check_translated`; and the translations are in the order of what they translate."""
    names, found = list(wanted), list(translated)
    check_translated(names, found)
    assert found == [name for name in names if name in set(found)]
