"""Sandbox of this process: zygote, probe, warm workers, private folders."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace

from app.core.errors import TollgateError
from app.operations.egress.destinations import CheckedDestinations, HostDestinations
from app.operations.egress.egress import Egress
from app.operations.local.failures import failure
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.code import Strictness
from app.operations.protocols.sandbox import Level, LevelStatus, SandboxStatus
from app.operations.sandbox.caches import ProjectCache
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.folders import TemporaryFolders
from app.operations.sandbox.kernel_probe import probe
from app.operations.sandbox.pool import WarmPool
from app.operations.sandbox.status import judge
from app.operations.sandbox.workers import Worker, park
from app.operations.sandbox.zygote import Zygote
from app.operations.web.addresses import Reach
from app.operations.web.resolver import SystemResolver

_log = logging.getLogger(__name__)

# a program may have left tens of thousands of folders, which must not delay a start
_REMOVALS = ThreadPoolExecutor(2, thread_name_prefix="removal")
_RESOLVING = 32  # names of all programs at once; each of them asks for a few
_WARM: tuple[Strictness, ...] = ("strict", "standard")


class Sandbox:
    """Sandbox shared by all workspaces of a process; must be used on one event loop.

    Everything is started on first use, or in advance by `start`. Close it at the end, by `close` or
    as a context manager; running processes end with the service in any case.

    Args:
        status: capabilities of this machine, if known; otherwise a child probes them.
        destinations: decides where allowed hosts are reached; by default public addresses, and
            those of the configuration's networks.
    """

    def __init__(
        self,
        config: SandboxConfig | None = None,
        *,
        status: SandboxStatus | None = None,
        destinations: HostDestinations | None = None,
    ) -> None:
        self.config = config or SandboxConfig()
        self.zygote = Zygote()
        self.egress = Egress(destinations or self._destinations())
        self._folders = TemporaryFolders(self.config.temporary, self.config.uid)
        self._status = status
        self._probing = asyncio.Lock()
        self._dropped: deque[str] = deque()
        self._pools = {level: self._pool(level) for level in _WARM}

    @property
    def status(self) -> SandboxStatus:
        """Return this machine's capabilities; blocks some 100 ms before the first start."""
        if self._status is None:
            config = self.config
            self._status = judge(
                probe(config.uid),
                weaker=config.weaker,
                uid=config.uid,
                root=os.geteuid() == 0,
            )
        return self._status

    async def start(self) -> SandboxStatus:
        """Probe the kernel, and have the zygote and the warm workers ready.

        Raises nothing: failures are in the status, or in the log and the error of the next call.
        """
        status = await self.known()
        if any(level.available for level in status.levels.values()):
            try:
                await self.zygote.start()
            except TollgateError as error:
                _log.warning("the sandbox failed to start: %s", error)
                return status
        if status.levels["strict"].available:
            await asyncio.gather(*(pool.fill() for pool in self._pools.values()))
        return status

    async def known(self) -> SandboxStatus:
        """Return `status` without blocking the loop."""
        async with self._probing:
            if self._status is None:
                await to_end(run_in(PROCESSES, lambda: self.status))
        return self.status

    async def level(self, level: Level) -> LevelStatus:
        """Return the isolation of a run at `level`.

        Raises:
            ToolFailed: code `sandbox_unavailable`.
        """
        found = (await self.known()).levels[level]
        if not found.available:
            raise sandbox_unavailable(f"Level {level} is not available. {found.sentence}")
        return found

    def keep_out(self, port: int) -> None:
        """Block access to `port`, on which the service itself listens, from every workspace."""
        self.config = replace(self.config, own_ports=self.config.own_ports | {port})

    async def warm_worker(self, level: Strictness, wall_s: float) -> Worker | None:
        """Return a confined interpreter that waits for its code, or None."""
        pool = self._pools.get(level)
        return None if pool is None else await pool.take(wall_s)

    async def make_folder(self) -> str:
        """Create a private folder.

        Raises:
            StorageUnavailable, ToolFailed: it cannot be created.
        """
        self._remove_dropped()
        making = asyncio.ensure_future(run_in(PROCESSES, self._folders.make))
        try:
            return await to_end(making)
        except OSError as error:
            raise failure(error, "private temporary folder") from None
        except asyncio.CancelledError:
            if not making.cancelled() and making.exception() is None:
                await self.remove_folder(making.result())
            raise

    def drop_folder(self, folder: str) -> None:
        """Schedule removal of an unused private folder, at the next creation of one.

        May be called from a finalizer, and so from anywhere in this process, even while a lock such
        as that of all pools is held. It therefore takes no lock.
        """
        self._dropped.append(folder)

    def _remove_dropped(self) -> None:
        while self._dropped:
            _REMOVALS.submit(self._folders.remove, self._dropped.popleft())

    async def remove_folder(self, folder: str) -> None:
        await to_end(run_in(_REMOVALS, self._folders.remove, folder))

    def trim(self, cache: ProjectCache | None, written: int) -> None:
        """Have a cache trimmed in the background once programs have written much."""
        if cache is not None and cache.is_due(written):
            _REMOVALS.submit(cache.trim)

    @asynccontextmanager
    async def folder(self) -> AsyncIterator[str]:
        """Provide a private folder that is removed at the end."""
        made = await self.make_folder()
        try:
            yield made
        finally:
            await self.remove_folder(made)

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End warm workers and the zygote, and remove all private folders."""
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))
        await self.zygote.close()
        await self.egress.close()
        await to_end(run_in(_REMOVALS, self._folders.close))

    def _destinations(self) -> HostDestinations:
        networks = tuple(ipaddress.ip_network(text) for text in self.config.allow_networks)
        reach = Reach(networks, lambda: self.config.own_ports)
        return CheckedDestinations(SystemResolver(_RESOLVING), reach, "sandbox.allow_networks")

    def _pool(self, level: Strictness) -> WarmPool:
        async def parked() -> Worker:
            return await park(self.zygote, self.config, await self.level(level), level)

        return WarmPool(self.config.warm_workers, parked)
