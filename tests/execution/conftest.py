"""A migrated database to copy, and labs on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config.settings import Settings
from tests.execution.lab import Lab, bare_lab, open_lab, settings_for
from tests.support.database import new_database


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "tollgate.db"
    new_database(path)
    return path


@pytest.fixture
def settings(tmp_path: Path, template: Path) -> Settings:
    return settings_for(tmp_path / "data", template)


@pytest.fixture
async def lab(settings: Settings) -> AsyncIterator[Lab]:
    """A gate with an empty catalog."""
    async with bare_lab(settings) as opened:
        yield opened


@pytest.fixture
async def house(settings: Settings) -> AsyncIterator[Lab]:
    """A gate with the built-in tools and the default project."""
    async with open_lab(settings) as opened:
        yield opened
