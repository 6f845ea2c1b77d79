"""What every gate reads is read once: the metadata of all packages, and the skills that come with
the product."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoints, entry_points

import pytest

from app.knowledge.skills.document import read_document

_ASKING = ("app.catalog.plugins.entry_points", "app.execution.hooks.plugins.entry_points")


@cache
def _found(group: str, _path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def _remembered(*, group: str) -> EntryPoints:
    """As long as modules are looked for in the same places."""
    return _found(group, tuple(sys.path))


@pytest.fixture(scope="session", autouse=True)
def installed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.knowledge.skills.finding.read_document", cache(read_document))
        for name in _ASKING:
            patch.setattr(name, _remembered)
        yield
