"""Routes that are built after the service starts responding, and their placeholder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send


class LazyRoutes(BaseRoute):
    """Placeholder that delays unmatched requests until the real routes are loaded.

    It sends no responses itself: delayed requests go through the router again, which then has the
    real routes instead of this one. Clients only notice the delay, or an error if the routes cannot
    be loaded.
    """

    def __init__(self, router: Router, read: Callable[[], Sequence[BaseRoute]]) -> None:
        self._router = router
        self._read = read
        self._reading: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Load the real routes into the router immediately, in this thread."""
        self._put(self._read())

    async def loaded(self) -> None:
        """Wait until the real routes are in the router; the first call starts loading them.

        They are loaded once, in a thread; loading continues if its caller is cancelled. An error
        while loading is raised to every caller.
        """
        if self not in self._router.routes:
            return
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_apart())
        await asyncio.shield(self._reading)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every request, because its route may not be loaded yet."""
        return Match.FULL, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.loaded()
        await self._router(scope, receive, send)

    async def _read_apart(self) -> None:
        # A separate thread, because long work of runs may occupy all threads of the loop.
        reader = ThreadPoolExecutor(1, "routes")
        try:
            routes = await asyncio.get_running_loop().run_in_executor(reader, self._read)
        finally:
            reader.shutdown(wait=False)
        self._put(routes)

    def _put(self, routes: Sequence[BaseRoute]) -> None:
        self._router.routes[:] = routes
