"""A served service for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.service import Running, serving, settings_for


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path)) as running:
        yield running
