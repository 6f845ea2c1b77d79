"""A desk with schedules."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.config.settings import Settings
from tests.agents.schedules.schedule_lab import Desk, open_desk


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Desk]:
    async with open_desk(settings) as opened:
        yield opened
