"""Examining the installation from within the service that runs."""

from __future__ import annotations

import asyncio

from app.execution.doctor.check import Check
from app.execution.doctor.examination import Installation, findings

PATIENCE_S = 10.0


class Doctor:
    """One examination at a time: who asks during one gets what it finds."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._found: list[Check] = []

    async def examine(
        self, installation: Installation, patience_s: float = PATIENCE_S
    ) -> tuple[list[Check], bool]:
        """The findings, and whether they are all of them.

        A check that hangs, on a network drive for instance, keeps its thread; no second one
        is started meanwhile.
        """
        if self._task is None or self._task.done():
            self._found = []
            self._task = asyncio.create_task(asyncio.to_thread(_collect, installation, self._found))
        task, found = self._task, self._found
        done, _ = await asyncio.wait({task}, timeout=patience_s)
        if done:
            task.result()
        return list(found), bool(done)


def _collect(installation: Installation, found: list[Check]) -> None:
    for check in findings(installation):
        found.append(check)  # noqa: PERF402 - the list is read while it grows
