"""Real databases, started once, and a gate with data sources on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.bootstrap.installation import local_runtime
from app.config.sources import SourceSettings
from app.governance.agents import AgentProfile
from tests.execution.lab import Lab, furnish
from tests.knowledge.sources.shops import AGENT, OTHER_AGENT
from tests.support.service import settings_for
from tests.support.sql_servers import SqlServer, mariadb, postgres, sqlite_file


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[SqlServer]:
    with mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[SqlServer]:
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sqlite_file(tmp_path_factory.mktemp("files") / "shop.db")


@pytest.fixture(params=["mysql", "postgres"])
def server(request: pytest.FixtureRequest) -> SqlServer:
    """Each kind of server in turn."""
    name = {"mysql": "mariadb_server", "postgres": "postgres_server"}[request.param]
    found: SqlServer = request.getfixturevalue(name)
    return found


@pytest.fixture
async def lab(tmp_path: Path, shop_file: Path) -> AsyncIterator[Lab]:
    """A gate in which SQLite files beside the shop may be sources."""
    folder = tmp_path / "data"
    folder.mkdir()
    chosen = SourceSettings(sqlite_folders=[shop_file.parent, tmp_path / "files"])
    async with local_runtime(settings_for(folder, sources=chosen)) as runtime:
        for agent_id in (AGENT, OTHER_AGENT):
            await runtime.agents.create(AgentProfile(id=agent_id), actor="ann")
        yield await furnish(runtime, project="default")
