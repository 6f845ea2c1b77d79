"""A migrated database to copy, settings on it, and a department."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.config.settings import Settings
from tests.agents.delegation.department import Department, open_department
from tests.agents.delegation.doubles import Doubles
from tests.execution.conftest import settings, template

__all__ = ["settings", "template"]


@pytest.fixture
async def department(settings: Settings) -> AsyncIterator[Department]:
    async with open_department(settings) as opened:
        yield opened
        await opened.delegation.close()


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services open with doubles in place of worker processes."""

    @asynccontextmanager
    async def pool(*_: Any, **__: Any) -> AsyncIterator[Doubles]:
        yield Doubles()

    monkeypatch.setattr("app.workers.pool.WorkerPool", pool)
