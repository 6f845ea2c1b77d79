"""A call's context on a real workspace, with language servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config.language_servers import LanguageServersSettings
from app.operations.language_servers.pool import LanguageServerPool, installed_servers
from app.operations.local.workspace import LocalWorkspace
from app.toolkit.context import ToolContext
from app.toolkit.ports import CODE_SERVERS
from app.toolkit.services import Services


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
async def pool() -> AsyncIterator[LanguageServerPool]:
    settings = LanguageServersSettings()
    servers = LanguageServerPool(settings, installed_servers(settings))
    yield servers
    await servers.close()


@pytest.fixture
async def here(root: Path, pool: LanguageServerPool) -> AsyncIterator[ToolContext]:
    with LocalWorkspace(root) as workspace:
        yield ToolContext(
            tool_call_id="call_1",
            operation_id="call_1",
            project_id="project_1",
            services=Services(**{CODE_SERVERS: pool}),
            bound_operations=workspace.operations,
        )
