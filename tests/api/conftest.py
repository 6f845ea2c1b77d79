"""A running service for every test of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.core.settings import Settings, load_settings
from tests.api.serving import Serving, serve


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path, port=0, anthropic_api_key=None)


@pytest.fixture
async def serving(settings: Settings) -> AsyncIterator[Serving]:
    async with serve(settings) as running:
        yield running


@pytest.fixture
def service_url(serving: Serving) -> str:
    return serving.url
