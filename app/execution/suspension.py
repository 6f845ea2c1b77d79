"""Runs left to the next process because they wait for a person."""

from __future__ import annotations

from typing import Protocol


class Suspendable(Protocol):
    """Component in which calls wait for people."""

    def suspend(self, run_id: str) -> bool:
        """Leave the waits of a run to the next process; False if there are none."""

    def forget(self, run_id: str) -> None:
        """Drop the waits of a run that is closed as a whole."""


class RunSuspension:
    """Combines all `Suspendable`s: a run is suspended as a whole, or not at all."""

    def __init__(self) -> None:
        self._rooms: list[Suspendable] = []
        self._runs: set[str] = set()

    def watch(self, room: Suspendable) -> None:
        """Add a component to ask."""
        self._rooms.append(room)

    def suspend(self, run_id: str) -> bool:
        """Leave a run to the next process; False if it waits for no person."""
        waits = [room.suspend(run_id) for room in self._rooms]
        if not any(waits):
            return False
        self._runs.add(run_id)
        return True

    def forget(self, run_id: str) -> None:
        """Drop all waits of a run that is closed as a whole."""
        for room in self._rooms:
            room.forget(run_id)

    def is_suspended(self, run_id: str | None) -> bool:
        return run_id in self._runs
