"""Composition root: settings become services, services become the application.

Whatever is heavy (web stack, SDKs, the ORM) is imported where it is needed, so that
`tollgate call` does not pay for the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.catalog.builtin import register_all_tools
from app.core.clock import Clock
from app.core.settings import Settings
from app.db.schema import ensure_schema
from app.execution.projects import DEFAULT_PROJECT
from app.execution.setup import Gate, make_folder, open_gate
from app.operations.local.workspace import open_workspace


@asynccontextmanager
async def local_gate(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[Gate]:
    """The gate of this installation: its database, its plugins, its default project.

    Raises:
        StorageUnavailable: the data directory cannot be written.
        ConfigurationError: the workspace or the plugin folder cannot be used.
    """
    await asyncio.to_thread(ensure_schema, settings.database_path)
    workspace = make_folder(settings.workspace_dir)
    registry = register_all_tools(plugin_dir=settings.plugins_dir)
    async with open_gate(settings, registry, open_workspace, clock=clock) as gate:
        gate.projects.mount(DEFAULT_PROJECT, workspace)
        yield gate
