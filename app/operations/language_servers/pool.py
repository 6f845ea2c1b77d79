"""Language servers on demand: started at the first query, stopped after a period without
queries.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from app.config.language_servers import LanguageServerSettings, LanguageServersSettings
from app.core.errors import ToolFailed
from app.operations.language_servers.documents import suffix_of
from app.operations.language_servers.server import CodeServer
from app.operations.local.environment import SAFE_PATH
from app.operations.programs import own_program
from app.operations.protocols.operations import Operations

_FREE_FAILURES = 2
_MAX_PAUSE_S = 60.0

Key = tuple[tuple[str, ...], str]
"""Workspace root with its restricting folders, and the name of the server."""


def python_server() -> LanguageServerSettings:
    """Return the server included in the installation."""
    return LanguageServerSettings(
        name="ty",
        command=[own_program("ty"), "server"],
        extensions={"py": "python", "pyi": "python"},
        settings={"ty": {"diagnosticMode": "openFilesOnly"}},
    )


def installed_servers(settings: LanguageServersSettings) -> list[LanguageServerSettings]:
    """Return the configured servers and the one for Python, if their programs are installed."""
    named = {server.name for server in settings.servers}
    own = python_server()
    servers = [*settings.servers, *([own] if own.name not in named else [])]
    return [server for server in servers if _is_there(server.command[0])]


def _is_there(program: str) -> bool:
    if program.startswith("/"):
        return os.access(program, os.X_OK)
    # A relative path refers to the workspace and is checked at the start.
    return "/" in program or shutil.which(program, path=SAFE_PATH) is not None


@dataclass(slots=True)
class _ServerKey:
    """Slot of one server, running or not.

    Attributes:
        users: calls that currently use it.
        failures: consecutive deaths without a response.
        not_before: loop time before which it is not restarted.
    """

    settings: LanguageServerSettings
    server: CodeServer | None = None
    users: int = 0
    last_used: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    expiry: asyncio.TimerHandle | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


class LanguageServerPool:
    """All language servers of the service; `close` ends them.

    Args:
        servers: installed servers; see `installed_servers`.
    """

    def __init__(
        self, settings: LanguageServersSettings, servers: Sequence[LanguageServerSettings]
    ) -> None:
        self._settings = settings
        self._servers = list(servers)
        self._places: dict[Key, _ServerKey] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[str]:
        """Return the names of the running servers."""
        return [name for (_, name), place in self._places.items() if place.server is not None]

    def use(
        self, operations: Operations, *, path: str | None = None, name: str | None = None
    ) -> AbstractAsyncContextManager[CodeServer]:
        """Provide the server `name`, or the one for `path`, started if necessary.

        Raises (on entering): ToolFailed `no_language_server`, `language_server_died`,
            `language_server_broken` while a repeatedly crashing server is suspended,
            `too_many_language_servers`, `sandbox_unavailable`.
        """
        return self._use(operations, self._chosen(path, name))

    async def close(self) -> None:
        """End every server."""
        places, self._places = list(self._places.values()), {}
        for place in places:
            self._end(place)
        while self._ending:
            await asyncio.wait(self._ending)

    def _chosen(self, path: str | None, name: str | None) -> LanguageServerSettings:
        suffix = suffix_of(path) if path is not None else None
        for server in self._servers:
            if name is not None and server.name != name:
                continue
            if suffix is None or suffix in server.extensions:
                return server
        known = ", ".join(
            f"{server.name} ({', '.join(server.extensions)})" for server in self._servers
        )
        what = f"named {name!r}" if name is not None else f"for {path!r}"
        raise ToolFailed(
            f"No language server {what}; available: {known or 'none'}. Add one under "
            "language_servers.servers in config.yml",
            code="no_language_server",
        )

    @asynccontextmanager
    async def _use(
        self, operations: Operations, settings: LanguageServerSettings
    ) -> AsyncIterator[CodeServer]:
        key = ((operations.root, *operations.roots), settings.name)
        place = self._places.setdefault(key, _ServerKey(settings))
        place.users += 1
        if place.expiry is not None:
            place.expiry.cancel()
        try:
            server = await self._running(place, operations)
            yield server
            if server.alive:
                place.failures = 0
        finally:
            place.users -= 1
            self._rest(place)

    async def _running(self, place: _ServerKey, operations: Operations) -> CodeServer:
        async with place.starting:
            if place.server is not None and place.server.alive:
                return place.server
            if place.server is not None:
                self._count_failure(place)
                self._end(place)
            self._refuse_early(place)
            self._make_room(place)
            server = CodeServer(
                place.settings, operations, memory_bytes=self._settings.memory_mb << 20
            )
            place.server = server
            try:
                await server.start()
            except BaseException as error:
                if isinstance(error, ToolFailed):
                    self._count_failure(place)
                self._end(place)
                raise
            return server

    def _count_failure(self, place: _ServerKey) -> None:
        place.failures += 1
        if place.failures >= _FREE_FAILURES:
            pause = min(2.0 ** (place.failures - _FREE_FAILURES), _MAX_PAUSE_S)
            place.not_before = asyncio.get_running_loop().time() + pause

    def _refuse_early(self, place: _ServerKey) -> None:
        left = place.not_before - asyncio.get_running_loop().time()
        if left > 0:
            raise ToolFailed(
                f"The language server {place.settings.name!r} has crashed "
                f"{place.failures} times in a row; it is restarted in {left:.0f} s",
                code="language_server_broken",
                server=place.settings.name,
                retry_after_s=round(left, 1),
            )

    def _make_room(self, wanting: _ServerKey) -> None:
        """End the least recently used server if there are too many."""
        running = [place for place in self._places.values() if place.server is not None]
        if len(running) < self._settings.max_running:
            return
        resting = [place for place in running if place.users == 0 and place is not wanting]
        if not resting:
            raise ToolFailed(
                f"All {len(running)} allowed language servers are busy; try again, or "
                "raise language_servers.max_running",
                code="too_many_language_servers",
            )
        self._end(min(resting, key=lambda place: place.last_used))

    def _rest(self, place: _ServerKey) -> None:
        """Start the idle timer if no call uses the server."""
        loop = asyncio.get_running_loop()
        place.last_used = loop.time()
        if place.users == 0 and place.server is not None:
            place.expiry = loop.call_later(self._settings.idle_s, self._end, place)

    def _end(self, place: _ServerKey) -> None:
        if place.expiry is not None:
            place.expiry.cancel()
        server, place.server = place.server, None
        if server is not None:
            ending = asyncio.ensure_future(server.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
