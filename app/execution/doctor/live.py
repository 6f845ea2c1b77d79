"""Examination of the installation from within the running service."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread

from app.core.error_boundary import try_call
from app.execution.doctor.check import Check
from app.execution.doctor.examination import Installation, findings

PATIENCE_S = 10.0


class Doctor:
    """Runs one examination at a time; concurrent requests share its result."""

    def __init__(self) -> None:
        self._done: asyncio.Future[None] | None = None
        self._found: list[Check] = []

    async def examine(
        self, installation: Installation, patience_s: float = PATIENCE_S
    ) -> tuple[list[Check], bool]:
        """Return the findings, and whether they are complete.

        A check that hangs, for instance on a network drive, keeps its thread; no second one is
        started until it ends, and the service stops without waiting for it.
        """
        if self._done is None or self._done.done():
            self._found = []
            self._done = asyncio.get_running_loop().create_future()
            collecting = (installation, self._found, self._done)
            Thread(target=_collect, args=collecting, name="doctor", daemon=True).start()
        ending, found = self._done, self._found
        done, _ = await asyncio.wait({ending}, timeout=patience_s)
        if done:
            ending.result()
        return list(found), bool(done)


def _collect(installation: Installation, found: list[Check], done: asyncio.Future[None]) -> None:
    def look() -> None:
        for check in findings(installation):
            found.append(check)  # noqa: PERF402 - the list is read while it grows

    _, error = try_call(look)
    with suppress(RuntimeError):  # the service has stopped
        done.get_loop().call_soon_threadsafe(_end, done, error)


def _end(done: asyncio.Future[None], error: BaseException | None) -> None:
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(None)
