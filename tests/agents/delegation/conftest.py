"""A migrated database to copy, settings on it, and a department."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.core.settings import Settings
from tests.agents.delegation.department import Department, open_department
from tests.execution.conftest import settings, template

__all__ = ["settings", "template"]


@pytest.fixture
async def department(settings: Settings) -> AsyncIterator[Department]:
    async with open_department(settings) as opened:
        yield opened
        await opened.delegator.close()
