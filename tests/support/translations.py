"""Chinese translations must be complete at a release; until then the pages fall back to English."""

from __future__ import annotations

import os
from collections.abc import Iterable


def at_release() -> bool:
    """Return whether a release is checked: CHECK_RELEASE=1."""
    return os.environ.get("CHECK_RELEASE") == "1"


def check_translated(wanted: Iterable[str], translated: Iterable[str]) -> None:
    """Fail on a translation of a missing text, and at a release on a missing translation."""
    names = set(wanted)
    found = set(translated)
    assert found - names == set(), "translated, but nothing of this name exists"
    if at_release():
        assert names - found == set(), "not translated yet"


def in_order(wanted: Iterable[str], translated: Iterable[str]) -> None:
    """Check like `check_translated`, and that the translations have the order of the texts."""
    names, found = list(wanted), list(translated)
    check_translated(names, found)
    assert found == [name for name in names if name in set(found)]
