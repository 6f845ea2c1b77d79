"""A site, and the web as a tool sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.operations.web.client import Web
from tests.operations.web.site import PUBLIC, Internet, Names, Site, serving


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def names() -> Names:
    return Names(public_test=[[PUBLIC]], other_test=[[PUBLIC]])


@pytest.fixture
def internet(site: Site) -> Internet:
    return Internet(site.port)


@pytest.fixture
async def web(internet: Internet, names: Names, clock: ManualClock) -> AsyncIterator[Web]:
    """With the settings as they ship, but for waiting between requests."""
    settings = WebSettings(host_interval_s=0)
    made = Web(settings, clock, resolver=names, network=internet)
    yield made
    await made.aclose()
