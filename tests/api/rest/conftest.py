"""Clients of the running service."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.support.http import HttpClient
from tests.support.service import Running


@pytest.fixture
async def client(serving: Running) -> AsyncIterator[httpx2.AsyncClient]:
    async with HttpClient(base_url=serving.api) as running:
        yield running
