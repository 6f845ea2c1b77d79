"""A running service for every test of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.config.settings import Settings
from tests.support.brisk import brisk_services
from tests.support.service import Running, settings_for
from tests.support.service import serving as serve


@pytest.fixture(scope="module", autouse=True)
def brisk() -> Iterator[None]:
    """Almost every test here has a service of its own, and few of them run a program."""
    with brisk_services():
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, anthropic_api_key=None)


@pytest.fixture
async def serving(settings: Settings) -> AsyncIterator[Running]:
    async with serve(settings) as running:
        yield running


@pytest.fixture
def service_url(serving: Running) -> str:
    return serving.url
