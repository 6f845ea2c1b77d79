"""Which runs are left to the next process, because somebody is asked in them."""

from __future__ import annotations

from typing import Protocol


class Suspendable(Protocol):
    """A place where calls wait for people."""

    def suspend(self, run_id: str) -> bool:
        """Leave what waits in a run as it is from now on; False when nothing does."""


class RunSuspension:
    """One answer for everybody: a run is parked as a whole, or not at all."""

    def __init__(self) -> None:
        self._rooms: list[Suspendable] = []
        self._runs: set[str] = set()

    def watch(self, room: Suspendable) -> None:
        """Ask this room too."""
        self._rooms.append(room)

    def suspend(self, run_id: str) -> bool:
        """Leave a run to the next process; False when nobody is asked in it."""
        waits = [room.suspend(run_id) for room in self._rooms]
        if not any(waits):
            return False
        self._runs.add(run_id)
        return True

    def is_suspended(self, run_id: str | None) -> bool:
        return run_id in self._runs
