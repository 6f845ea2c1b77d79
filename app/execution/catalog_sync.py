"""Synchronization of the stored catalog, the loaded catalog, and changes by other processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.catalog.catalog import Catalog
from app.catalog.registry import ToolRegistry
from app.core.errors import StorageUnavailable
from app.governance.config_versions import ConfigVersions
from app.governance.tool_settings import ToolSettingsRepository

log = logging.getLogger(__name__)

RETRY_S = 1.0


class CatalogSync:
    """Writer of new catalogs to the database; of several in a row, only the last."""

    def __init__(self, governance: ToolSettingsRepository) -> None:
        self._governance = governance
        self._next: Catalog | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def now(self, catalog: Catalog) -> None:
        """Write a catalog to the database immediately.

        Raises:
            StorageUnavailable: the database is not writable.
        """
        self._loop = asyncio.get_running_loop()
        await self._governance.sync(catalog)

    def announce(self, catalog: Catalog) -> None:
        """Schedule a write of the changed catalog; called on the event loop's thread."""
        self._next = catalog
        if self._task is None or self._task.done():
            assert self._loop is not None
            self._task = self._loop.create_task(self._work())

    async def settled(self) -> None:
        """Wait until the newest catalog is in the database."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def close(self) -> None:
        """Finish the active write; the next start stores anything that failed."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _work(self) -> None:
        while (catalog := self._next) is not None:
            self._next = None
            try:
                await self._governance.sync(catalog)
            except StorageUnavailable as error:
                log.warning("the catalog is not stored in the database yet: %s", error.message)
                self._next = self._next or catalog
                await asyncio.sleep(RETRY_S)


@asynccontextmanager
async def in_step(
    registry: ToolRegistry, sync: CatalogSync, changes: ConfigVersions
) -> AsyncIterator[None]:
    """Sync the catalog now and on every change, and watch for changes by other processes.

    Raises:
        StorageUnavailable: the database is not writable.
    """
    await sync.now(registry.snapshot())
    stop = registry.on_change(sync.announce)
    workspace_watch = asyncio.create_task(changes.run(), name="changes")
    try:
        yield
    finally:
        stop()
        workspace_watch.cancel()
        await asyncio.wait({workspace_watch})
        await sync.close()
