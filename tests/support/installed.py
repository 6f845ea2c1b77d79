"""Data read by every gate, read once per test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.once import replacements


@pytest.fixture(scope="session", autouse=True)
def installed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, replacement in replacements().items():
            patch.setattr(name, replacement)
        yield
