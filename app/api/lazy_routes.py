"""Routes that are read and built once the service answers, and what stands for them until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send


class LazyRoutes(BaseRoute):
    """Takes whatever no route before it takes, and has it wait for the real routes.

    It answers nothing itself: what waited goes through the router again, which by then holds
    every route and not this one. So nobody sees a difference but the time, and where the routes
    cannot be read, an error.
    """

    def __init__(self, router: Router, read: Callable[[], Sequence[BaseRoute]]) -> None:
        self._router = router
        self._read = read
        self._reading: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Put the real routes into the router, here and now."""
        self._put(self._read())

    async def loaded(self) -> None:
        """Return when the real routes are in the router; the first caller has them read.

        Reading is done once, in a thread, and goes on if its caller is cancelled. Whatever it
        raised is raised to every caller.
        """
        if self not in self._router.routes:
            return
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_apart())
        await asyncio.shield(self._reading)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Everything: a route that is not there yet may be the one that is meant."""
        return Match.FULL, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.loaded()
        await self._router(scope, receive, send)

    async def _read_apart(self) -> None:
        # A thread of its own: those of the loop may all be at long work that runs have left.
        reader = ThreadPoolExecutor(1, "routes")
        try:
            routes = await asyncio.get_running_loop().run_in_executor(reader, self._read)
        finally:
            reader.shutdown(wait=False)
        self._put(routes)

    def _put(self, routes: Sequence[BaseRoute]) -> None:
        self._router.routes[:] = routes
